// A stream function for Pi that says what a story's `model` scripts; see the model answers of the scenario format.

const ABORTED = "Request was aborted";
const STREAMED = ["text", "thinking", "toolcall"];
const EXHAUSTED = { error: "script exhausted", start: false };

/** Return the stream function: the n-th call gets the n-th answer. `onAbort` is what it does once the run is aborted. */
export function scriptedModel(answers, onAbort = "aborted") {
  let calls = 0;
  return (signal) => {
    const answer = answers[calls++] ?? EXHAUSTED;
    if (answer.throws !== undefined) throw new Error(answer.throws);
    return stream(answer, signal, (answer.onAbort ?? onAbort) === "ignore");
  };
}

function stream(answer, signal, ignores) {
  const final = finalMessage(answer);
  let settle;
  const result = new Promise((resolve) => (settle = resolve));
  async function* events() {
    const content = [];
    for (const step of steps(answer, final)) {
      if (signal?.aborted && !ignores) break;
      if (step.type === "throw") throw new Error(step.message);
      if (step.type === "done" || step.type === "error") return yield settled(final, settle);
      grow(content, step, final);
      const partial = { role: "assistant", content: content.map((block) => ({ ...block })), stopReason: "stop" };
      yield { ...told(step), partial };
    }
    if (signal?.aborted && !ignores) {
      const partial = { role: "assistant", content, stopReason: "aborted", errorMessage: ABORTED };
      return yield settled(partial, settle);
    }
    settle(final);
  }
  return { [Symbol.asyncIterator]: events, result: () => result };
}

function told({ type, contentIndex = 0, delta = "" }) {
  return type.endsWith("_delta") ? { type, contentIndex, delta } : { type, contentIndex };
}

function settled(message, settle) {
  settle(message);
  const failed = ["error", "aborted"].includes(message.stopReason);
  return failed ? { type: "error", error: message } : { type: "done", message };
}

function finalMessage(answer) {
  const message = { ...answer.message, role: "assistant", content: contentOf(answer) };
  if (answer.error !== undefined) message.errorMessage = answer.error;
  if (answer.usage !== undefined) message.usage = answer.usage;
  const calls = message.content.some((block) => block.type === "toolCall");
  const why = answer.error !== undefined ? "error" : calls ? "toolUse" : "stop";
  message.stopReason = answer.stopReason ?? answer.message?.stopReason ?? why;
  return message;
}

function contentOf({ message, thinking, text, toolCalls = [] }) {
  if (typeof message?.content === "string") return [{ type: "text", text: message.content }];
  if (message) return message.content ?? [];
  const content = [];
  if (thinking !== undefined) content.push({ type: "thinking", thinking });
  if (text !== undefined) content.push({ type: "text", text });
  for (const call of toolCalls) content.push({ type: "toolCall", arguments: {}, ...call });
  return content;
}

function steps({ deltas = 0, start = true, end = "done" }, final) {
  if (Array.isArray(deltas)) return deltas;
  const found = start ? [{ type: "start" }] : [];
  if (start && deltas > 0) final.content.forEach((block, at) => found.push(...pieces(block, at, deltas)));
  if (end === "done") found.push({ type: "done" });
  return found;
}

function pieces(block, contentIndex, count) {
  const kind = block.type.toLowerCase();
  if (!STREAMED.includes(kind)) return [];
  const parts = kind === "toolcall" ? [JSON.stringify(block.arguments)] : cut(block[block.type], count);
  return [
    { type: `${kind}_start`, contentIndex },
    ...parts.map((delta) => ({ type: `${kind}_delta`, contentIndex, delta })),
    { type: `${kind}_end`, contentIndex },
  ];
}

function cut(text, count) {
  const border = (at) => Math.floor((at * text.length) / count);
  return Array.from({ length: count }, (_, at) => text.slice(border(at), border(at + 1)));
}

function grow(content, { type, contentIndex: at = 0, delta = "" }, final) {
  if (type === "start") return;
  const [kind, what] = type.split("_");
  while (content.length <= at) content.push(emptyBlock(kind, final.content[content.length]));
  if (what === "start") content[at] = emptyBlock(kind, final.content[at]);
  if (what === "delta" && content[at].type === kind) content[at][kind] += delta;
  if (what === "end" && kind === "toolcall") content[at].arguments = final.content[at]?.arguments ?? {};
}

function emptyBlock(kind, planned) {
  if (kind !== "toolcall") return { type: kind, [kind]: "" };
  return { type: "toolCall", id: planned?.id, name: planned?.name, arguments: {} };
}
