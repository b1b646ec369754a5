// The tools of a scenario, what executing a call does, and the hooks around it.

import { withContent } from "./scenario_edits.mjs";
import { fail } from "./trace.mjs";

const NO_PARAMETERS = JSON.stringify({ type: "object", properties: {} });
const MOST_SCHEMAS = 1000;
const schemas = new Map();

export class ScenarioTools {
  constructor({ tools = [], toolResults = {}, hooks = {} }, trace, timers) {
    this.toolResults = toolResults;
    this.trace = trace;
    this.timers = timers;
    this.tools = new Map(tools.toReversed().map((tool) => [tool.name, this.tool(tool)]));
    this.beforeToolCall = ({ toolCall, args }) => this.before(toolCall.id, hooks.beforeToolCall, args);
    this.afterToolCall = ({ toolCall, isError }) => this.after(toolCall.id, hooks.afterToolCall, isError);
  }

  named(names) {
    return names.map((name) => this.tools.get(name));
  }

  tool({ name, description = "", parameters, executionMode, prepareArguments: shim }) {
    const execute = (id, args, signal, report) => this.execute(id, args, signal, report);
    const tool = { name, label: name, description, parameters: schema(parameters), execute };
    if (executionMode) tool.executionMode = executionMode;
    if (shim) tool.prepareArguments = (args) => this.shimmed(name, shim, args);
    return tool;
  }

  shimmed(toolName, { throws, rename = {}, set }, args) {
    this.trace.call("prepareArguments", { toolName, args });
    if (throws !== undefined) fail(throws);
    if (args === null || typeof args !== "object" || Array.isArray(args)) return args;
    const renamed = Object.entries(args).map(([key, value]) => [entry(rename, key) ?? key, value]);
    return { ...Object.fromEntries(renamed), ...structuredClone(set) };
  }

  before(toolCallId, table, args) {
    this.trace.call("beforeToolCall", { toolCallId, args });
    const said = entry(table, toolCallId);
    if (said?.throws !== undefined) fail(said.throws);
    Object.assign(args, said?.setArgs);
    return said;
  }

  after(toolCallId, table, isError) {
    this.trace.call("afterToolCall", { toolCallId, isError });
    const said = entry(table, toolCallId);
    if (said?.throws !== undefined) fail(said.throws);
    return said && withContent(said);
  }

  execute(toolCallId, args, signal, report) {
    this.trace.call("execute", { toolCallId, args });
    const { updates = [], delay = 0, throws, abortThrows, ...result } = entry(this.toolResults, toolCallId) ?? {};
    const partials = updates.map(({ at = 0, ...partial }) => [at, { content: [], ...withContent(partial) }]);
    for (const [at, partial] of partials) if (at <= 0) report(partial);
    for (const [at, partial] of partials) if (at > 0) this.timers.after(at, () => report(partial));
    return new Promise((resolve, reject) => {
      this.timers.after(delay, () => {
        const fault = signal.aborted && abortThrows !== undefined ? abortThrows : throws;
        if (fault !== undefined) reject(new Error(fault));
        else resolve({ content: [{ type: "text", text: "ok" }], ...withContent(result) });
      });
    });
  }
}

function entry(table, key) {
  return table && Object.hasOwn(table, key) ? table[key] : undefined;
}

/** Return one and the same object for equal schemas: Pi compiles a validator for each object, which takes long. */
function schema(parameters) {
  const text = parameters ? JSON.stringify(parameters) : NO_PARAMETERS;
  if (!schemas.has(text)) {
    if (schemas.size >= MOST_SCHEMAS) schemas.clear();
    schemas.set(text, JSON.parse(text));
  }
  return schemas.get(text);
}
