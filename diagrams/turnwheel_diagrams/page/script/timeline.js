// The turns, and in each its tool calls as lanes: side by side where they overlap.

const LANE = 18; // height of a lane in pixels
const AROUND = 80; // pixels around the current turn that are kept in sight

class Timeline {
  constructor(run, root, go) {
    this.run = run;
    this.box = role(root, "timeline");
    this.turn = null;
    this.turns = run.turns.map((turn) => new Turn(run, turn, go));
    part(root, "scale").textContent = `${count(run.turns.length, "turn")}, ${run.timed ? "by time" : "by position"}`;
    this.box.append(...this.turns.map((turn) => turn.element));
    if (!run.turns.length) this.box.append(make("p", { class: "quiet" }, "No turn has begun."));
  }

  show(at) {
    const turn = this.turns[this.run.marks[at].turn - 1] || null;
    if (this.turn && this.turn !== turn) this.turn.leave();
    if (turn) turn.show(at);
    if (turn && this.turn !== turn) this.#reveal(turn.element);
    this.turn = turn;
  }

  #reveal(element) {
    const start = element.offsetLeft - this.box.offsetLeft;
    reveal(this.box, start - AROUND, start + element.offsetWidth + AROUND, "left");
  }
}

class Turn {
  constructor(run, turn, go) {
    this.run = run;
    this.turn = turn;
    const entries = run.entries;
    const timed = run.timed && entries[turn.last].time > entries[turn.first].time;
    this.where = (at) => (timed ? entries[at].time : entries[at].at);
    this.from = this.where(turn.first);
    this.span = Math.max(1, this.where(turn.last) - this.from);
    const calls = count(turn.calls.length, "call");
    const title = `turn ${turn.number}: ${calls}${timed ? `, ${milliseconds(this.span)}` : ""}`;
    const start = () => go(turn.first);
    const head = make("button", { type: "button", click: start, title, "aria-label": title }, turn.number);
    this.cursor = make("i", { class: "cursor", hidden: true });
    this.calls = lanes(turn.calls).map(([call, lane]) => this.#call(call, lane, go));
    const depth = Math.max(0, ...this.calls.map(({ lane }) => lane + 1));
    const rows = make("div", { class: "lanes" }, this.calls.map(({ element }) => element), this.cursor);
    const names = { "data-turn": turn.number, role: "group", "aria-label": title };
    rows.style.height = `${Math.max(1, depth) * LANE}px`;
    this.element = make("div", { class: "turn", ...names }, head, rows);
    this.element.style.flexGrow = String(Math.sqrt(turn.last - turn.first + 1));
  }

  show(at) {
    this.element.setAttribute("aria-current", "step");
    this.cursor.hidden = false;
    this.cursor.style.left = `${this.#percent(at)}%`;
    for (const { call, element } of this.calls) {
      element.classList.toggle("running", at >= call.first && (call.last === null || at < call.last));
      element.classList.toggle("coming", at < call.first);
    }
  }

  leave() {
    this.element.removeAttribute("aria-current");
    this.cursor.hidden = true;
    for (const { element } of this.calls) element.classList.remove("running", "coming");
  }

  #percent(at) {
    return (100 * (this.where(at) - this.from)) / this.span;
  }

  #call(call, lane, go) {
    const end = call.last === null ? this.turn.last : call.last;
    const how = call.last === null ? "not ended" : call.failed ? "error" : "ended";
    const title = `${call.tool}: ${how}, entries ${call.first} to ${end}`;
    const look = { class: call.failed ? "lane failed" : "lane", title, "aria-label": title };
    const button = { type: "button", "data-call": call.id, click: () => go(call.first) };
    const element = make("button", { ...look, ...button }, call.tool);
    element.style.top = `${lane * LANE}px`;
    element.style.left = `${this.#percent(call.first)}%`;
    element.style.width = `${Math.max(2, this.#percent(end) - this.#percent(call.first))}%`;
    return { call, lane, element };
  }
}

// Give each call the first lane that is free when it begins.
function lanes(calls) {
  const ends = [];
  return calls.map((call) => {
    const free = ends.findIndex((end) => end !== null && end <= call.first);
    const lane = free < 0 ? ends.length : free;
    ends[lane] = call.last;
    return [call, lane];
  });
}
