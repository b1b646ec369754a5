// The world as a scenario describes it: context, callbacks, queues and model, as Pi's low-level loop wants them.

import { Timers } from "./clock.mjs";
import { edited } from "./scenario_edits.mjs";
import { ScenarioTools } from "./scenario_tools.mjs";
import { ScenarioTrace, namesOf, roles, shownToModel, shownTurn } from "./scenario_trace.mjs";
import { scriptedModel } from "./scripted_model.mjs";
import { fail, fullMessage } from "./trace.mjs";

const STANDARD = ["user", "assistant", "toolResult"];

export class ScenarioWorld {
  /** `ai` is what pi-ai exports. Since 0.86.0 system prompt and tools are part of the messages: loadouts. */
  constructor(scenario, ai) {
    this.scenario = scenario;
    this.hooks = scenario.hooks ?? {};
    this.ai = ai;
    this.loadouts = ai.createInitialSystemMessage !== undefined;
    this.standard = this.loadouts ? ["system", ...STANDARD] : STANDARD;
    this.timers = new Timers();
    this.trace = new ScenarioTrace(scenario.abort);
    this.tools = new ScenarioTools(scenario, this.trace, this.timers);
  }

  // --- what the run begins with --------------------------------------------------------------------------------------

  context() {
    const { context: given = {}, entry, tools = [] } = this.scenario;
    const context = {
      systemPrompt: given.systemPrompt ?? "",
      messages: (given.messages ?? []).map(fullMessage),
      tools: this.tools.named(given.tools ?? namesOf(tools)),
    };
    return entry === "continue" && context.messages.length === 0 ? context : this.led(context);
  }

  config() {
    const { scenario, hooks } = this;
    const { model = "m0", thinkingLevel, toolExecution } = scenario.config ?? {};
    const config = { model: modelOf(model), reasoning: reasoningOf(thinkingLevel), ...this.callbacks() };
    if (toolExecution) config.toolExecution = toolExecution;
    for (const name of ["beforeToolCall", "afterToolCall"]) if (hooks[name]) config[name] = this.tools[name];
    if (scenario.steering !== null) config.getSteeringMessages = this.queue("getSteeringMessages", scenario.steering);
    if (scenario.followUp !== null) config.getFollowUpMessages = this.queue("getFollowUpMessages", scenario.followUp);
    return config;
  }

  streamFunction() {
    const answer = scriptedModel(this.scenario.model ?? [], this.scenario.config?.modelOnAbort);
    return (model, { systemPrompt, messages, tools }, { reasoning, signal }) => {
      this.trace.call("stream", {
        model: model.id,
        reasoning,
        ...(this.loadouts ? {} : { systemPrompt }),
        messages: messages.map((message) => shownToModel(message, this.loadouts)),
        tools: namesOf(this.loadouts ? this.ai.getCurrentTools(messages) : tools),
      });
      return answer(signal);
    };
  }

  // --- callbacks -----------------------------------------------------------------------------------------------------

  callbacks() {
    const { hooks } = this;
    const found = { convertToLlm: (messages) => this.convertToLlm(messages) };
    const stops = hooks.shouldStopAfterTurn;
    const finishes = hooks.finishTurn ?? stops?.map(finishing);
    if (stops) found.shouldStopAfterTurn = (turn) => this.next("shouldStopAfterTurn", stops, shownTurn(turn));
    if (finishes) found.finishTurn = (turn) => this.next("finishTurn", finishes, shownTurn(turn));
    for (const name of ["prepareNextTurn", "prepareRequest", "transformContext"]) {
      if (hooks[name]) found[name] = (given) => this[name](given);
    }
    return found;
  }

  /** Note a call, and return the item that is its turn. */
  next(name, items, fields) {
    const item = items[this.trace.call(name, fields)];
    if (item?.throws !== undefined) fail(item.throws);
    return item ?? undefined;
  }

  queue(name, items = []) {
    return () => {
      const nth = this.trace.call(name);
      const item = nth < items.length ? items[nth] : [];
      if (item?.throws !== undefined) fail(item.throws);
      return item?.map(fullMessage);
    };
  }

  prepareNextTurn(turn) {
    const said = this.next("prepareNextTurn", this.hooks.prepareNextTurn, shownTurn(turn));
    const messages = said?.messages && edited(turn.context.messages, said.messages);
    return said && { ...this.prepared(said, turn.context), messages };
  }

  prepareRequest({ context, model, thinkingLevel }) {
    const asked = { context: roles(context.messages), model: model.id, thinkingLevel };
    const said = this.next("prepareRequest", this.hooks.prepareRequest, asked);
    return said && this.prepared(said, context);
  }

  prepared({ context, model, thinkingLevel }, old) {
    return { context: context && this.changed(context, old), model: model && modelOf(model), thinkingLevel };
  }

  transformContext(messages) {
    const edits = this.hooks.transformContext;
    const nth = this.trace.call("transformContext", { messages: roles(messages) });
    return edited(messages, Array.isArray(edits) ? edits[nth] : edits);
  }

  convertToLlm(messages) {
    const how = this.hooks.convertToLlm ?? "default";
    this.trace.call("convertToLlm", { messages: roles(messages) });
    if (how.throws !== undefined) fail(how.throws);
    if (how === "identity") return messages;
    const standard = ({ role }) => this.standard.includes(role);
    if (how === "default") return messages.filter(standard);
    return messages.map((message) => (standard(message) ? message : { role: "user", content: message.content }));
  }

  // --- contexts ------------------------------------------------------------------------------------------------------

  changed({ systemPrompt, messages, tools }, old) {
    const context = {
      systemPrompt: systemPrompt ?? old.systemPrompt,
      messages: edited(old.messages, messages),
      tools: tools ? this.tools.named(tools) : old.tools,
    };
    const anew = Array.isArray(messages) || systemPrompt !== undefined;
    return this.loadouts && anew ? this.led({ ...context, messages: withoutLeading(context.messages) }) : context;
  }

  /** Return the context with a leading system message for its prompt and tools, as Pi's Agent makes it. */
  led(context) {
    if (!this.loadouts || context.messages[0]?.role === "system") return context;
    const { createInitialSystemMessage, toToolDeclaration } = this.ai;
    const leading = createInitialSystemMessage(context.systemPrompt, context.tools.map(toToolDeclaration));
    return leading ? { ...context, messages: [leading, ...context.messages] } : context;
  }
}

function withoutLeading(messages) {
  return messages[0]?.role === "system" ? messages.slice(1) : messages;
}

/** Return what finishTurn does where a scenario tells of shouldStopAfterTurn, whose place it took in 0.87.0. */
function finishing(item) {
  return item === true ? { action: "end" } : item || undefined;
}

function modelOf(id) {
  return { id };
}

function reasoningOf(level = "off") {
  return level === "off" ? undefined : level;
}
