// Plays stories on the Agent of a real Pi:
//
//   node agent_story.mjs pi-0.85.1 STORY.json…              one trace after the other, each a JSON list on a line
//   node agent_story.mjs pi-0.85.1 --write STORY.json…      into golden/pi-0.85.1/STORY.jsonl beside each story

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";

import { StoryPlayer } from "./story_player.mjs";
import { canonical } from "./trace.mjs";

// Pi starts what it reports without awaiting it at once; a listener that fails there is no reason to end the process.
process.on("unhandledRejection", () => {});

const [version, ...rest] = process.argv.slice(2);
const writes = rest[0] === "--write";
const home = new URL(`./${version}/node_modules/@earendil-works/`, import.meta.url);
const number = version.replace("pi-", "");

for (const name of ["pi-agent-core", "pi-ai"]) {
  const found = JSON.parse(readFileSync(new URL(`${name}/package.json`, home), "utf8")).version;
  if (found !== number) throw new Error(`expected ${name} ${number}, found ${found}`);
}
const { Agent } = await import(new URL("pi-agent-core/dist/index.js", home).href);

for (const file of writes ? rest.slice(1) : rest) {
  const story = JSON.parse(readFileSync(file, "utf8"));
  if (writes && !(story.dialects ?? [version]).includes(version)) continue;
  const trace = await new StoryPlayer(story, Agent).play();
  if (writes) write(file, trace);
  else console.log(canonical(trace));
}

function write(file, trace) {
  const folder = join(dirname(file), "golden", version);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, `${basename(file, ".json")}.jsonl`), trace.map((line) => `${canonical(line)}\n`).join(""));
}
