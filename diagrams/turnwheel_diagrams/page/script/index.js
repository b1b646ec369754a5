// Reads the data of the page, and notes for every entry what held there, so that a step only has to look it up.

function readData() {
  const data = JSON.parse(document.getElementById("data").textContent);
  const whole = ["runs", "verdicts", "messages", "blocks"].every((key) => Array.isArray(data[key]));
  if (!whole || data.runs.length === 0) throw new Error("a part of it is missing");
  return data;
}

class Run {
  constructor(told, data) {
    this.name = told.name;
    this.header = told.header;
    this.torn = told.torn;
    this.entries = told.entries;
    this.data = data;
    this.states = data.states[told.header.dialect];
    this.last = this.entries.length - 1;
    this.ended = this.last >= 0 && this.entries[this.last].kind === "ended" ? this.entries[this.last] : null;
    this.timed = this.entries.every((entry) => entry.time !== undefined);
    this.marks = []; // by entry: what holds once it has happened
    this.stops = []; // entries: decisions of the loop by which the run went on or stopped
    this.said = []; // {entry, message}: finished messages
    this.answers = []; // {message, turn}: those with a usage
    this.turns = []; // {number, first, last, calls}
    this.#walk();
  }

  verdict(entry) {
    return this.data.verdicts[entry.verdict];
  }

  message(place) {
    return this.data.messages[place];
  }

  block(place) {
    return this.data.blocks[place];
  }

  #walk() {
    let mark = {
      turn: 0, said: 0, answers: 0, growing: -1, decision: -1, answer: null,
      loop: { state: this.states.loop[0], row: -1 }, batch: null, call: null,
    };
    for (let at = 0; at <= this.last; at++) {
      const entry = this.entries[at];
      mark = { ...mark };
      if (entry.kind === "decision") this.#decided(mark, entry, at);
      else if (entry.kind === "event") this.#happened(mark, entry, at);
      if (this.turns.length) this.turns[this.turns.length - 1].last = at;
      this.marks.push(mark);
    }
  }

  #decided(mark, entry, at) {
    const verdict = this.verdict(entry);
    mark.decision = at;
    mark[verdict.machine] = { state: verdict.dest, row: verdict.row, index: entry.index };
    if (verdict.machine !== "loop") return;
    if (verdict.stops) this.stops.push(at);
    mark.batch = verdict.dest === "ExecutingTools" ? { state: this.states.batch[0], row: -1 } : null;
    mark.call = null;
  }

  #happened(mark, entry, at) {
    switch (entry.type) {
      case "turn_start":
        mark.turn = this.turns.length + 1;
        this.turns.push({ number: mark.turn, first: at, last: at, calls: [] });
        break;
      case "message_start":
        mark.growing = at;
        break;
      case "message_end":
        this.#finished(mark, entry, at);
        break;
      case "tool_execution_start":
        this.#calls().push({ id: entry.call, tool: entry.tool, first: at, last: null, failed: false });
        break;
      case "tool_execution_end": {
        const call = this.#calls().find((each) => each.id === entry.call && each.last === null);
        if (call) Object.assign(call, { last: at, failed: entry.failed });
      }
    }
  }

  #finished(mark, entry, at) {
    const message = this.message(entry.message);
    mark.growing = -1;
    mark.said = this.said.push({ entry: at, message });
    if (message.role !== "assistant") return;
    mark.answer = message;
    if (message.usage) mark.answers = this.answers.push({ message, turn: mark.turn, entry: at });
  }

  #calls() {
    return this.turns.length ? this.turns[this.turns.length - 1].calls : [];
  }
}
