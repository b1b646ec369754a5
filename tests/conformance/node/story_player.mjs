// Plays one story on an Agent of Pi and writes down what happens; the format is in ../STORIES.md.

import { isDeepStrictEqual } from "node:util";

import { Clock } from "./clock.mjs";
import { World, modelOf } from "./story_world.mjs";
import { bare, eventLine, fail, fullMessage, plain } from "./trace.mjs";

export class StoryPlayer {
  lines = [];

  constructor(story, Agent) {
    this.story = story;
    this.reactions = (story.reactions ?? []).map((reaction) => ({ ...reaction, seen: 0 }));
    this.clock = new Clock();
    this.world = new World(story, this);
    this.listeners = Object.fromEntries(
      Object.entries(story.listeners ?? {}).map(([name, kind]) => [name, this.listener(name, kind)]),
    );
    this.ends = {};
    this.agent = new Agent(this.options());
  }

  async play() {
    for (const action of this.story.actions) {
      await this.act(action, "story").catch(() => {});
    }
    const agent = this.agent;
    this.note({
      end: {
        messages: agent.state.messages.map(bare),
        steering: agent.steeringQueue.messages.map(bare),
        followUp: agent.followUpQueue.messages.map(bare),
        state: this.state(),
      },
    });
    return this.lines;
  }

  transcript() {
    return this.agent.state.messages;
  }

  note(line) {
    this.lines.push(plain(line));
  }

  // --- set-up --------------------------------------------------------------------------------------------------------

  options() {
    const { story } = this;
    return {
      initialState: {
        systemPrompt: story.context?.systemPrompt ?? "",
        model: modelOf(story.config?.model ?? "m0"),
        thinkingLevel: story.config?.thinkingLevel ?? "off",
        tools: this.world.toolsNamed(story.context?.tools ?? (story.tools ?? []).map((tool) => tool.name)),
        messages: (story.context?.messages ?? []).map(fullMessage),
      },
      toolExecution: story.config?.toolExecution,
      steeringMode: story.steeringMode,
      followUpMode: story.followUpMode,
      ...this.world.callbacks(),
    };
  }

  listener(name, kind) {
    const note = (event) => {
      this.note({ event: eventLine(event), listener: name, state: this.state(event.message) });
      return this.reactionsTo(name, event.type);
    };
    if (kind === "async") {
      return async (event) => {
        const actions = note(event);
        await Promise.resolve();
        for (const action of actions) await this.act(action, name);
      };
    }
    return (event) => note(event).forEach((action) => this.actAtOnce(action, name));
  }

  state(told) {
    const { agent } = this;
    const { state } = agent;
    const shown = {
      isStreaming: state.isStreaming,
      streamingMessage: shownMessage(state.streamingMessage, told),
      pendingToolCalls: [...state.pendingToolCalls].sort(),
      errorMessage: state.errorMessage,
      messages: state.messages.length,
      hasQueued: agent.hasQueuedMessages(),
      steeringMode: agent.steeringMode,
      followUpMode: agent.followUpMode,
      aborted: agent.signal?.aborted,
    };
    const usual = (value) => !value || value.length === 0 || value === "one-at-a-time";
    return Object.fromEntries(Object.entries(shown).filter(([, value]) => !usual(value)));
  }

  // --- reactions and actions -----------------------------------------------------------------------------------------

  reactionsTo(where, what) {
    const due = [];
    for (const reaction of this.reactions) {
      if (reaction.in !== where || (reaction.on !== undefined && reaction.on !== what)) continue;
      const nth = reaction.seen++;
      if (reaction.nth === undefined || reaction.nth === nth) due.push(...reaction.do);
    }
    return due;
  }

  async react(where, what) {
    for (const action of this.reactionsTo(where, what)) await this.act(action, where);
  }

  async act(action, by) {
    try {
      const said = this.perform(action);
      if (said instanceof Promise) await said;
    } catch (error) {
      this.noteDone(action, by, error);
      if (action.do === "throw") throw error;
      return;
    }
    this.noteDone(action, by);
  }

  actAtOnce(action, by) {
    try {
      this.perform(action);
    } catch (error) {
      this.noteDone(action, by, error);
      if (action.do === "throw") throw error;
      return;
    }
    this.noteDone(action, by);
  }

  noteDone(action, by, error) {
    const line = { did: action.do, by };
    if (error) line.threw = told(action, error);
    if (by === "story") line.state = this.state();
    this.note(line);
  }

  perform(action) {
    const agent = this.agent;
    const actions = {
      prompt: () => this.prompt(action),
      continue: () => agent.continue(),
      steer: () => agent.steer(fullMessage(action.with)),
      followUp: () => agent.followUp(fullMessage(action.with)),
      clear: () => this.clear(action.with),
      set: () => this.set(action.with),
      abort: () => agent.abort(),
      reset: () => agent.reset(),
      waitForIdle: () => agent.waitForIdle(),
      wait: () => this.clock.wait(action.ticks),
      subscribe: () => this.subscribe(action.with),
      unsubscribe: () => this.ends[action.with].pop()(),
      throw: () => fail(action.with),
    };
    return actions[action.do]();
  }

  async prompt({ with: given, images, meanwhile }) {
    const input = Array.isArray(given) ? given.map(fullMessage) : given;
    const running = this.agent.prompt(input, images);
    const noted = await this.inParallel(meanwhile ?? []);
    await running;
    this.lines.push(...noted);
  }

  async inParallel(actions) {
    const noted = [];
    for (const action of actions) {
      const threw = await this.errorOf(action);
      noted.push(plain({ did: action.do, by: "meanwhile", threw, isStreaming: this.agent.state.isStreaming }));
    }
    return noted;
  }

  async errorOf(action) {
    try {
      await this.perform(action);
    } catch (error) {
      return told(action, error);
    }
    return undefined;
  }

  clear(what) {
    if (what === "steering") this.agent.clearSteeringQueue();
    else if (what === "followUp") this.agent.clearFollowUpQueue();
    else this.agent.clearAllQueues();
  }

  set(values) {
    for (const [name, value] of Object.entries(values)) {
      if (name.endsWith("Mode")) this.agent[name] = value;
      else if (name === "model") this.agent.state.model = modelOf(value);
      else if (name === "tools") this.agent.state.tools = this.world.toolsNamed(value);
      else if (name === "messages") this.agent.state.messages = value.map(fullMessage);
      else this.agent.state[name] = value;
    }
  }

  subscribe(name) {
    (this.ends[name] ??= []).push(this.agent.subscribe(this.listeners[name]));
  }
}

/** Return the streaming message; where it is what the event tells, say only so. */
function shownMessage(message, told) {
  if (!message) return undefined;
  return told && isDeepStrictEqual(plain(message), plain(told)) ? "as told" : bare(message);
}

/** Return what a trace tells of an error; a wording that is turnwheel's own cannot be compared. */
function told(action, error) {
  return action.wording === "ours" ? true : error.message;
}
