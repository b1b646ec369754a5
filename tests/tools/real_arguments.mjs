// Validates arguments as pi-ai 1.6.0 does: a case {"parameters", "arguments"} per line in, {"taken"} or {"said"} per line out.

import { createInterface } from "node:readline";
import { piPackages } from "../conformance/node/pi_packages.mjs";

const { ai } = await piPackages("pi-1.6.0");

function answer({ parameters, arguments: written }) {
  try {
    return { taken: ai.validateToolArguments({ name: "t", parameters }, { name: "t", arguments: written }) };
  } catch (error) {
    return { said: error.message };
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  process.stdout.write(`${JSON.stringify(answer(JSON.parse(line)))}\n`);
}
