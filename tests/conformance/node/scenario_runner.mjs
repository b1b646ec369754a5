// Plays scenarios on the loop of a real Pi:
//
//   node scenario_runner.mjs pi-0.85.1 SCENARIO.json…    one trace after the other, JSON lines; status 2: one is wrong
//   node scenario_runner.mjs pi-0.85.1 --serve           a scenario per line in, a JSON array (the trace) per line out

import { readFileSync } from "node:fs";

import { piPackages } from "./pi_packages.mjs";
import { checkScenario } from "./scenario_check.mjs";
import { play } from "./scenario_player.mjs";

const [version, ...files] = process.argv.slice(2);
const pi = await piPackages(version);

if (files[0] === "--serve") await serve();
else await show(files);

async function show(files) {
  for (const file of files) {
    try {
      for (const line of await played(readFileSync(file, "utf8"))) console.log(line);
    } catch (error) {
      console.error(`${file}: ${error.message}`);
      process.exitCode = 2;
      return;
    }
  }
}

async function serve() {
  let begun = "";
  for await (const piece of process.stdin.setEncoding("utf8")) {
    const lines = (begun + piece).split("\n");
    begun = lines.pop();
    for (const line of lines) await answer(line);
  }
  if (begun) await answer(begun);
}

async function answer(line) {
  const trace = await played(line).catch((error) => [JSON.stringify({ scenarioError: error.message })]);
  process.stdout.write(`[${trace.join(",")}]\n`);
}

async function played(text) {
  const scenario = JSON.parse(text);
  checkScenario(scenario);
  return play(scenario, pi);
}
