// The current entry with all that was recorded of it.

const FACTS = ["id", "call", "tool", "model", "thinking", "messages", "step", "block"];

class Detail {
  constructor(run, root) {
    Object.assign(this, { run, box: role(root, "entry") });
  }

  show(at) {
    const entry = this.run.entries[at];
    const facts = this.#facts(entry).flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, value)]);
    this.box.replaceChildren(
      make("div", { class: "bar" }, make("h3", {}, "This entry"), make("p", {}, `${entry.kind} ${entry.type || ""}`)),
      make("dl", { class: "facts" }, facts),
      ...this.#content(entry).filter(Boolean),
    );
    this.box.scrollTop = 0;
  }

  #facts(entry) {
    const decided = entry.kind === "decision";
    const all = decided ? this.#decided(this.run.verdict(entry)) : FACTS.map((name) => [name, entry[name]]);
    return all.filter(([, value]) => value !== undefined && value !== null && value !== "");
  }

  #decided(verdict) {
    const emits = verdict.emits.join(", ");
    return [["on", condition(verdict)], ["goes", leads(verdict)], ["emits", emits], ["asks", verdict.asks]];
  }

  #content(entry) {
    if (entry.result) return showResult(this.run, entry.result);
    if (entry.message !== undefined) {
      return this.run.message(entry.message).blocks.map((place) => showBlock(this.run.block(place)));
    }
    if (entry.text !== undefined) return [longText(entry.text, "code")];
    return entry.kind === "ended" ? [make("p", {}, endInWords(entry))] : [];
  }
}
