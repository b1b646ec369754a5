// The last decision: the rule that fired, its reason, what the guards said, and which other rules there were.

class Decision {
  constructor(run, root, go) {
    this.run = run;
    this.go = go;
    this.box = role(root, "decision");
    this.shown = null;
  }

  show(at) {
    const decided = this.run.marks[at].decision;
    if (this.shown === decided) {
      if (this.when) this.when.textContent = this.#when(decided, at);
      return;
    }
    this.shown = decided;
    this.box.scrollTop = 0;
    if (decided < 0) {
      this.when = null;
      const nothing = make("p", { class: "quiet" }, "Nothing has been decided yet.");
      this.box.replaceChildren(make("h3", {}, "Decision"), nothing);
      return;
    }
    const back = () => this.go(decided);
    this.when = make("button", { type: "button", class: "when", click: back }, this.#when(decided, at));
    this.box.replaceChildren(...this.#told(this.run.entries[decided]).filter(Boolean));
  }

  #when(decided, at) {
    return decided === at ? "this entry" : `${count(at - decided, "entry", "entries")} back`;
  }

  #told(entry) {
    const verdict = this.run.verdict(entry);
    return [
      make("div", { class: "bar" }, make("h3", {}, "Decision"), make("p", {}, this.#whose(entry, verdict)), this.when),
      make("p", { class: "leads" }, leads(verdict), verdict.asks ? make("span", {}, ` then ${verdict.asks}`) : null),
      make("p", { class: "why" }, verdict.why),
      make("p", { class: "rule" }, make("span", { class: "quiet" }, "rule "), make("code", {}, verdict.name)),
      this.#guards(verdict),
      this.#others(verdict),
    ];
  }

  #whose(entry, verdict) {
    if (entry.index === undefined) return `of the ${verdict.machine}`;
    const { answer } = this.run.marks[this.shown];
    const blocks = answer ? answer.blocks.map((place) => this.run.block(place)) : [];
    const calls = blocks.filter((block) => block.kind === "call");
    return `of call ${entry.index + 1}${calls[entry.index] ? `, ${calls[entry.index].tool}` : ""}`;
  }

  #guards(verdict) {
    const row = (sign) => (guard) =>
      make("li", { class: sign }, make("b", {}, sign), make("code", {}, guard.name), make("span", {}, guard.meaning));
    const rows = [...verdict.held.map(row("yes")), ...verdict.notHeld.map(row("no"))];
    return rows.length ? make("ul", { class: "guards" }, rows) : null;
  }

  #others(verdict) {
    if (!verdict.others.length) return null;
    const rows = verdict.others.map((other) =>
      make(
        "li", {},
        make("p", {}, make("b", {}, leads(other)), ` ${missing(other)}`),
        make("p", { class: "quiet" }, other.why),
        make("p", { class: "quiet" }, make("code", {}, other.name)),
      ));
    return make("div", { class: "others" }, make("h4", {}, "What else could have fired"), make("ul", {}, rows));
  }
}

function missing(other) {
  const conditions = other.lacked.map((each) => `${each.name} had ${each.wanted ? "held" : "not held"}`);
  return conditions.length ? `if ${conditions.join(" and ")}` : "";
}
