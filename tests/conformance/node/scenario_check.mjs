// What a scenario may look like; the keys and their meaning are those of the scenario format.

import { anything, count, either, flag, having, later, list, maybe } from "./shapes.mjs";
import { object, table, text, time, word } from "./shapes.mjs";

const MOST_DELTAS = 100_000;
const STEPS = ["text", "thinking", "toolcall"].flatMap((kind) => [`${kind}_start`, `${kind}_delta`, `${kind}_end`]);
const CALLS = [
  ...["getSteeringMessages", "getFollowUpMessages", "prepareNextTurn", "shouldStopAfterTurn", "finishTurn"],
  ...["prepareRequest", "transformContext", "convertToLlm", "prepareArguments", "beforeToolCall", "execute"],
  ...["afterToolCall", "stream"],
];

const failing = { throws: text };
const throwing = object(failing, ["throws"]);
const values = table(anything);
const texts = list(text);
const message = either({ string: anything, object: having({ role: text }) });
const messages = list(message);
const content = maybe(list(having({ type: text })));
const onAbort = word("aborted", "ignore");
const execution = word("sequential", "parallel");

const tool = object(
  {
    name: text,
    description: text,
    parameters: values,
    executionMode: execution,
    prepareArguments: object({ ...failing, rename: table(text), set: values }),
  },
  ["name"],
);

const step = object(
  {
    type: word("start", ...STEPS, "done", "error", "throw"),
    contentIndex: count(MOST_DELTAS),
    delta: text,
    message: text,
  },
  ["type"],
);
const answer = object({
  message: values,
  thinking: text,
  text,
  toolCalls: list(object({ id: text, name: text, arguments: anything }, ["id", "name"])),
  error: text,
  usage: anything,
  stopReason: text,
  start: flag,
  end: word("done", "none"),
  deltas: either({ number: count(MOST_DELTAS), list: list(step) }),
  onAbort,
  ...failing,
});

const result = { text, content, details: anything, terminate: anything };
const changes = { ...result, isError: anything, usage: anything, structuredContent: anything };
const executed = object({
  ...changes,
  ...failing,
  addedToolNames: anything,
  delay: later,
  abortThrows: text,
  updates: list(object({ ...result, at: time })),
});

const change = object({ ...failing, dropFirst: count(), keepLast: count(), append: messages });
const edit = either({ null: anything, list: messages, object: change });
const preparation = {
  ...failing,
  context: object({ systemPrompt: text, messages: edit, tools: texts }),
  model: text,
  thinkingLevel: text,
};
const hooks = object({
  beforeToolCall: table(object({ ...failing, block: anything, reason: text, terminate: anything, setArgs: values })),
  afterToolCall: table(object({ ...failing, ...changes })),
  prepareNextTurn: list(maybe(object({ ...preparation, messages: edit }))),
  prepareRequest: list(maybe(object(preparation))),
  shouldStopAfterTurn: list(either({ boolean: anything, null: anything, object: throwing })),
  finishTurn: list(maybe(object({ ...failing, action: word("end", "continue") }))),
  transformContext: either({ object: change, list: list(maybe(change)) }),
  convertToLlm: either({ string: word("default", "identity", "custom-as-user"), object: throwing }),
});

const queue = maybe(list(either({ list: messages, null: anything, object: throwing })));
const scenarioShape = object({
  name: text,
  description: text,
  dialects: texts,
  entry: word("prompt", "continue"),
  context: object({ systemPrompt: text, messages, tools: texts }),
  prompts: messages,
  config: object({ toolExecution: execution, model: text, thinkingLevel: text, modelOnAbort: onAbort }),
  tools: list(tool),
  model: list(answer),
  toolResults: table(executed),
  hooks,
  steering: queue,
  followUp: queue,
  abort: object({ onEvent: count(), onCall: word(...CALLS), nth: count(), atTick: later, atStart: flag }),
});

/** Throws an error that says where and why a value is no scenario. */
export function checkScenario(scenario) {
  scenarioShape(scenario, "");
  const known = new Set((scenario.tools ?? []).map((one) => one.name));
  const { prepareNextTurn = [], prepareRequest = [] } = scenario.hooks ?? {};
  const contexts = [scenario.context, ...[...prepareNextTurn, ...prepareRequest].map((one) => one?.context)];
  for (const name of contexts.flatMap((context) => context?.tools ?? [])) {
    if (!known.has(name)) throw new Error(`the scenario has no tool ${JSON.stringify(name)}`);
  }
}
