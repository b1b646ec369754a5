// The trace of a scenario, line by line, and the run's abort, which the scenario may tie to a line.

/** Notes lines as JSON, which later changes do not reach; what is undefined is left out. */
export class ScenarioTrace {
  lines = [];
  #controller = new AbortController();
  #events = 0;
  #calls = new Map();

  /** `abort` is the scenario's, if it has one. */
  constructor(abort) {
    this.abort = abort ?? {};
  }

  get signal() {
    return this.#controller.signal;
  }

  abortRun() {
    this.#controller.abort();
  }

  event(event) {
    this.lines.push(JSON.stringify({ event: shownEvent(event) }));
    if (this.#events++ === this.abort.onEvent) this.abortRun();
  }

  /** Note a call of a callback; return how many there were of it before. */
  call(name, fields) {
    this.lines.push(JSON.stringify({ call: { name, ...fields } }));
    const nth = this.#calls.get(name) ?? 0;
    this.#calls.set(name, nth + 1);
    if (name === this.abort.onCall && nth === (this.abort.nth ?? 0)) this.abortRun();
    return nth;
  }

  result(messages) {
    this.lines.push(JSON.stringify({ result: { messages: messages.map(timeless) } }));
  }

  throws(error) {
    this.lines.push(JSON.stringify({ throws: error instanceof Error ? error.message : String(error) }));
  }
}

export function roles(messages) {
  return messages.map((message) => message.role);
}

/** Return what a trace shows of a finished turn. */
export function shownTurn({ message, toolResults, context, newMessages }) {
  return {
    stopReason: message.stopReason,
    toolResults: toolResults.map((result) => result.toolCallId),
    context: roles(context.messages),
    newMessages: roles(newMessages),
  };
}

/** Return what a trace shows of a message that the model gets; `loadouts`: whether system messages tell of tools. */
export function shownToModel(message, loadouts) {
  const { role, content, toolCallId, toolName, isError, toolsAdded, toolsRemoved } = message;
  if (role === "toolResult") return { role, content, toolCallId, toolName, isError };
  if (role !== "system" || !loadouts) return { role, content };
  return { role, content, toolsAdded: namesOf(toolsAdded), toolsRemoved: namesOf(toolsRemoved) };
}

export function namesOf(tools) {
  return tools?.map((tool) => tool.name);
}

function shownEvent(event) {
  const shown = timeless(event);
  if (event.message) shown.message = timeless(event.message);
  for (const name of ["messages", "toolResults"]) if (event[name]) shown[name] = event[name].map(timeless);
  if (event.type === "message_update") {
    const { type, contentIndex, delta } = event.assistantMessageEvent;
    shown.assistantMessageEvent = { type, contentIndex, delta };
  }
  return shown;
}

function timeless({ timestamp, durationMs, ...rest }) {
  return rest;
}
