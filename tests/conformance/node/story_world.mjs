// What the agent of a story calls: its hooks, its model and its tools, as the story scripts them.

import { scriptedModel } from "./scripted_model.mjs";
import { fail, fullMessage, seen } from "./trace.mjs";

const HOOKS = ["beforeToolCall", "afterToolCall", "transformContext", "shouldStopAfterTurn", "prepareNextTurn"];

export class World {
  /** `script` notes lines, does the reactions of a callback, has a clock and shows the agent's transcript. */
  constructor(story, script) {
    this.story = story;
    this.script = script;
    this.hooks = story.hooks ?? {};
    this.counts = {};
    this.model = scriptedModel(story.model ?? [], story.config?.modelOnAbort);
  }

  /** Return the callbacks that the story scripts, by their names as options of the Agent. */
  callbacks() {
    const { story, hooks } = this;
    const found = { streamFn: (...given) => this.stream(...given) };
    for (const name of HOOKS.filter((name) => hooks[name])) found[name] = (given) => this[name](given);
    if (hooks.convertToLlm) found.convertToLlm = (messages) => this.convertToLlm(messages);
    if (story.getApiKey) found.getApiKey = () => this.next("getApiKey", story.getApiKey);
    return found;
  }

  toolsNamed(names) {
    return names.map((name) => {
      const tool = this.story.tools.find((one) => one.name === name);
      const parameters = tool.parameters ?? { type: "object", properties: {} };
      const execute = (id, args, signal, report) => this.execute(id, args, signal, report);
      return { label: name, description: "", ...tool, parameters, execute };
    });
  }

  async next(name, items, fields = {}) {
    this.script.note({ call: name, ...fields });
    const nth = this.counts[name] ?? 0;
    this.counts[name] = nth + 1;
    await this.script.react(name);
    const item = items[nth];
    if (item?.throws !== undefined) fail(item.throws);
    return item ?? undefined;
  }

  async ofCall(name, { toolCall }, fields) {
    this.script.note({ call: name, toolCallId: toolCall.id, ...fields });
    await this.script.react(name, toolCall.id);
    const said = this.hooks[name][toolCall.id];
    if (said?.throws !== undefined) fail(said.throws);
    return said;
  }

  async beforeToolCall(given) {
    const said = await this.ofCall("beforeToolCall", given, { args: given.args });
    Object.assign(given.args, said?.setArgs);
    return said;
  }

  async afterToolCall(given) {
    const said = await this.ofCall("afterToolCall", given, { isError: given.isError });
    return said && withContent(said);
  }

  shouldStopAfterTurn() {
    return this.next("shouldStopAfterTurn", this.hooks.shouldStopAfterTurn);
  }

  async prepareNextTurn() {
    const said = await this.next("prepareNextTurn", this.hooks.prepareNextTurn);
    if (!said) return undefined;
    const context = said.context && {
      systemPrompt: said.context.systemPrompt ?? "",
      messages: edited(this.script.transcript(), said.context.messages),
      tools: this.toolsNamed(said.context.tools ?? []),
    };
    return { context, model: said.model && modelOf(said.model), thinkingLevel: said.thinkingLevel };
  }

  async transformContext(messages) {
    const edits = this.hooks.transformContext;
    const roles = messages.map((message) => message.role);
    const every = Array.isArray(edits) ? edits : Array((this.counts.transformContext ?? 0) + 1).fill(edits);
    return edited(messages, await this.next("transformContext", every, { messages: roles }));
  }

  async convertToLlm(messages) {
    const how = this.hooks.convertToLlm;
    await this.next("convertToLlm", [], { messages: messages.map((message) => message.role) });
    if (how.throws !== undefined) fail(how.throws);
    const standard = (message) => ["user", "assistant", "toolResult"].includes(message.role);
    if (how === "identity") return messages;
    if (how === "default") return messages.filter(standard);
    return messages.map((message) => (standard(message) ? message : { role: "user", content: message.content }));
  }

  async stream(model, context, { reasoning, apiKey, signal }) {
    await this.next("stream", [], {
      model: model.id,
      reasoning,
      apiKey,
      systemPrompt: context.systemPrompt,
      messages: context.messages.map(seen),
      tools: context.tools.map((tool) => tool.name),
    });
    return this.model(signal);
  }

  async execute(id, args, signal, report) {
    const does = this.story.toolResults?.[id] ?? {};
    this.script.note({ call: "execute", toolCallId: id, args });
    for (const update of does.updates ?? []) report({ content: [], ...withContent(update) });
    await this.script.react("execute", id);
    if (does.delay) await this.script.clock.wait(does.delay);
    if (does.abortThrows !== undefined && signal.aborted) fail(does.abortThrows);
    if (does.throws !== undefined) fail(does.throws);
    const { delay, abortThrows, throws, updates, ...result } = does;
    return { content: [{ type: "text", text: "ok" }], ...withContent(result) };
  }
}

export function modelOf(id) {
  return { id, name: id, api: "scripted", provider: "scripted", baseUrl: "", reasoning: true, input: ["text"] };
}

function withContent({ text, ...rest }) {
  return text === undefined ? rest : { content: [{ type: "text", text }], ...rest };
}

function edited(messages, edit) {
  if (!edit) return messages.slice();
  if (Array.isArray(edit)) return edit.map(fullMessage);
  if (edit.throws !== undefined) fail(edit.throws);
  const kept = messages.slice(edit.dropFirst ?? 0);
  const last = edit.keepLast === undefined ? kept : kept.slice(Math.max(0, kept.length - edit.keepLast));
  return [...last, ...(edit.append ?? []).map(fullMessage)];
}
