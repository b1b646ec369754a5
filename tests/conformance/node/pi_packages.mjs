// Finds the published packages of a version of Pi, and makes sure that they are of exactly that version.

import { readFileSync } from "node:fs";

const PACKAGES = ["pi-agent-core", "pi-ai"];

/** Return the low-level loop of `version` ("pi-0.85.1") as `loop`, and what pi-ai exports as `ai`. */
export async function piPackages(version) {
  const home = new URL(`./${version}/node_modules/@earendil-works/`, import.meta.url);
  const number = version.replace("pi-", "");
  for (const name of PACKAGES) {
    const found = JSON.parse(readFileSync(new URL(`${name}/package.json`, home), "utf8")).version;
    if (found !== number) throw new Error(`expected ${name} ${number}, found ${found}`);
  }
  const imported = (path) => import(new URL(path, home).href);
  return { loop: await imported("pi-agent-core/dist/agent-loop.js"), ai: await imported("pi-ai/dist/index.js") };
}
