// What a trace shows of messages and events.

const DROPPED = ["timestamp", "durationMs", "api", "provider", "model"];
const SEEN = ["role", "content", "toolCallId", "toolName", "isError"];

/** Return a copy that later changes do not reach; what is undefined is left out. */
export function plain(value) {
  return JSON.parse(JSON.stringify(value));
}

/** Return the message that a story means: a text is short for what a user says. */
export function fullMessage(message) {
  return typeof message === "string" ? { role: "user", content: [{ type: "text", text: message }] } : message;
}

/** Leave out what differs from run to run. */
export function bare(message) {
  return Object.fromEntries(Object.entries(message).filter(([name]) => !DROPPED.includes(name)));
}

/** Return what a model is shown of a message. */
export function seen(message) {
  return Object.fromEntries(SEEN.filter((name) => name in message).map((name) => [name, message[name]]));
}

export function eventLine(event) {
  const line = bare(event);
  if (event.message) line.message = bare(event.message);
  for (const name of ["messages", "toolResults"]) if (event[name]) line[name] = event[name].map(bare);
  if (event.type === "message_update") {
    const { type, contentIndex, delta } = event.assistantMessageEvent;
    line.assistantMessageEvent = { type, contentIndex, delta };
  }
  return line;
}

/** Return JSON with sorted keys and without spaces. */
export function canonical(value) {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  const pairs = Object.keys(value).sort().map((key) => `${JSON.stringify(key)}:${canonical(value[key])}`);
  return `{${pairs.join(",")}}`;
}

export function fail(text) {
  throw new Error(text);
}
