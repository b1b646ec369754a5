// One run in the page: all of its parts, and the entry that they show.

class View {
  constructor(run, key, moved) {
    this.run = run;
    this.key = key;
    this.moved = moved;
    this.at = 0;
    this.root = document.getElementById("run").content.firstElementChild.cloneNode(true);
    this.root.dataset.run = key;
    this.root.setAttribute("aria-label", `Run ${key}: ${run.name}`);
    this.scrubber = role(this.root, "scrubber");
    this.position = role(this.root, "position");
    this.#head();
  }

  // Behind the constructor, since parts measure themselves once they are in the page.
  fill(difference) {
    const go = (at) => this.go(at);
    this.diagram = new Diagram(this.run, this.root);
    this.list = new EntryList(this.run, this.root, this.key, go, difference);
    const parts = [Timeline, Decision, Detail, Messages, Tokens].map((Part) => new Part(this.run, this.root, go));
    this.parts = [this.diagram, this.list, ...parts];
    this.scrubber.max = String(Math.max(0, this.run.last));
    this.scrubber.addEventListener("input", () => this.go(Number(this.scrubber.value)));
    this.root.addEventListener("click", (event) => {
      const button = event.target.closest("[data-go]");
      if (button) this.step(button.dataset.go);
    });
    this.show(0);
  }

  go(at) {
    this.show(at);
    this.moved(this);
  }

  step(where) {
    const { list, run } = this;
    this.go({
      first: () => 0,
      last: () => run.last,
      back: () => list.next(list.shown, -1),
      on: () => list.next(list.shown, 1),
      before: () => list.next(run.stops, -1),
      next: () => list.next(run.stops, 1),
      "hit-before": () => list.nextHit(-1),
      "hit-next": () => list.nextHit(1),
    }[where]());
  }

  show(at) {
    if (this.run.last < 0) return;
    this.at = Math.min(Math.max(0, at), this.run.last);
    const entry = this.run.entries[this.at];
    const mark = this.run.marks[this.at];
    const words = `entry ${this.at} of ${this.run.last}`;
    const time = entry.time === undefined ? "" : ` · ${milliseconds(entry.time)}`;
    this.scrubber.value = String(this.at);
    this.scrubber.setAttribute("aria-valuetext", `${words}, ${mark.loop.state}`);
    this.position.textContent = `${words} · position ${entry.at} · turn ${mark.turn}${time}`;
    for (const each of this.parts) each.show(this.at);
  }

  #head() {
    const { header, torn, ended, last } = this.run;
    const began = header.began === null ? null : moment(header.began);
    const tools = header.tools.length ? `tools ${header.tools.join(", ")}` : "no tools";
    const facts = [header.dialect, `model ${header.model}`, `thinking ${header.thinking_level}`, tools, began];
    const letter = this.run.data.runs.length > 1 ? make("b", {}, `${this.key.toUpperCase()} `) : "";
    part(this.root, "name").append(letter, this.run.name);
    // Each in a box of its own, so that one whose text turns the direction of writing does not turn the next.
    const boxes = facts.filter(Boolean).map((fact, at) => [at ? " · " : null, make("bdi", {}, fact)]);
    part(this.root, "facts").replaceChildren(...boxes.flat().filter(Boolean));
    const note = part(this.root, "note");
    if (torn !== null) note.textContent = `Line ${torn} of the recording is torn and left out: it breaks off there.`;
    else if (last < 0) note.textContent = "The recording holds no entry.";
    else if (ended === null) note.textContent = "The recording breaks off before the end of the run.";
    note.hidden = !note.textContent;
  }
}
