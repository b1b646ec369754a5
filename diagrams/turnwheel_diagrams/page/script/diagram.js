// The picture of the machine, in which the state that it is in is lit and the row that fired last is marked.

const MACHINES = ["loop", "batch", "call"];

class Diagram {
  constructor(run, root) {
    this.run = run;
    this.box = root.querySelector(".picture");
    this.words = part(root, "machine");
    this.tabs = root.querySelector("[role=tablist]");
    this.pictures = new Map();
    this.at = 0;
    this.tabs.append(...MACHINES.map((machine) => this.#tab(machine)));
    this.tabs.addEventListener("keydown", (event) => this.#arrows(event));
    this.choose("loop");
  }

  choose(machine) {
    this.machine = machine;
    for (const tab of this.tabs.children) {
      tab.setAttribute("aria-selected", tab.dataset.machine === machine);
      tab.tabIndex = tab.dataset.machine === machine ? 0 : -1;
    }
    if (!this.pictures.has(machine)) this.pictures.set(machine, new Picture(this.run, machine));
    this.box.replaceChildren(this.pictures.get(machine).drawing);
    this.show(this.at);
  }

  show(at) {
    this.at = at;
    const where = this.run.marks[at] ? this.run.marks[at][this.machine] : null;
    this.pictures.get(this.machine).mark(where);
    this.words.textContent = this.#words(where);
    this.#reveal();
  }

  // A picture that is wider than its box is scrolled to the state that is lit.
  #reveal() {
    const { lit } = this.pictures.get(this.machine);
    if (!lit || this.box.scrollWidth <= this.box.clientWidth) return;
    const { left, right } = lit.getBoundingClientRect();
    const start = this.box.scrollLeft - this.box.getBoundingClientRect().left;
    reveal(this.box, left + start, right + start, "left");
  }

  #words(where) {
    if (!where) return this.machine === "batch" ? "no batch is running" : "no call is being decided";
    const call = where.index === undefined ? "" : `call ${where.index + 1} is in `;
    return `${call}${where.state}`;
  }

  #tab(machine) {
    const choose = () => this.choose(machine);
    return make("button", { type: "button", role: "tab", "data-machine": machine, click: choose }, machine);
  }

  #arrows(event) {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const next = MACHINES[(MACHINES.indexOf(this.machine) + step + MACHINES.length) % MACHINES.length];
    this.choose(next);
    this.tabs.querySelector(`[data-machine="${next}"]`).focus();
  }
}

class Picture {
  constructor(run, machine) {
    const name = `${run.header.dialect} ${machine}`;
    const pictures = [...document.querySelectorAll("template[data-picture]")];
    const drawn = pictures.find((each) => each.dataset.picture === name);
    this.drawing = drawn ? drawn.content.firstElementChild.cloneNode(true) : boxes(run.states[machine]);
    this.states = this.#by("state");
    this.rows = this.#by("row");
    this.lit = this.fired = null;
  }

  mark(where) {
    const lit = where && this.states.get(where.state);
    const fired = where && this.rows.get(String(where.row));
    for (const [old, now, name] of [[this.lit, lit, "lit"], [this.fired, fired, "fired"]]) {
      if (old) old.classList.remove(name);
      if (now) now.classList.add(name);
    }
    this.lit = lit;
    this.fired = fired;
  }

  #by(name) {
    return new Map([...this.drawing.querySelectorAll(`[data-${name}]`)].map((each) => [each.dataset[name], each]));
  }
}

// What stands in for a picture that could not be drawn.
function boxes(states) {
  return make("ol", { class: "boxes" }, states.map((state) => make("li", { "data-state": state }, state)));
}
