// Begins: reads the data, puts the runs into the page, and connects keys, address, theme and help.

const KEYS = {
  ArrowLeft: "back", k: "back", ArrowRight: "on", j: "on",
  Home: "first", End: "last", p: "before", n: "next",
};

class Page {
  constructor(data) {
    this.difference = data.difference;
    const moved = (view) => this.#moved(view);
    this.views = data.runs.map((run, number) => new View(new Run(run, data), "ab"[number], moved));
    this.active = this.views[0];
    const main = document.querySelector("main");
    main.classList.toggle("two", this.views.length > 1);
    if (this.difference) main.append(this.#compared());
    main.append(...this.views.map((view) => view.root));
    for (const view of this.views) {
      view.fill(this.difference ? this.difference[view.key] : undefined);
      view.root.addEventListener("focusin", () => { this.active = view; });
      view.root.addEventListener("pointerdown", () => { this.active = view; });
    }
    document.addEventListener("keydown", (event) => this.#key(event));
    addEventListener("hashchange", () => this.#restore());
    this.#restore();
  }

  #compared() {
    const { words, a } = this.difference;
    const go = { type: "button", "data-role": "to-difference", click: () => this.#toDifference() };
    const jump = a === undefined ? null : make("button", go, "To the difference");
    this.together = make("input", { type: "checkbox", "data-role": "together", checked: true });
    return make(
      "section", { class: "difference", "data-role": "difference", "aria-label": "The first difference" },
      make("div", {}, words.map((sentence) => make("p", {}, sentence))),
      make("div", { class: "steps" }, jump, make("label", {}, this.together, "step both")),
    );
  }

  #toDifference() {
    for (const view of this.views) view.show(this.difference[view.key]);
    this.#note(this.active);
  }

  #moved(view) {
    this.#follow(view);
    this.#note(view);
  }

  // One run has moved: the other one goes to the entry of the same number.
  #follow(view) {
    this.active = view;
    if (!this.together || !this.together.checked) return;
    for (const other of this.views) if (other !== view) other.show(view.at);
  }

  #note(view) {
    const run = this.views.length > 1 ? `&run=${view.key}` : "";
    try {
      history.replaceState(null, "", `#at=${view.at}${run}`);
    } catch {
      // Browsers limit how often a page may change its address: the next step will tell.
    }
  }

  #restore() {
    const told = new URLSearchParams(location.hash.slice(1));
    const at = Number.parseInt(told.get("at"), 10);
    if (Number.isNaN(at)) return;
    const view = this.views.find((each) => each.key === told.get("run")) || this.views[0];
    view.show(at);
    this.#follow(view);
  }

  #key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog").open) return;
    const target = event.target instanceof Element ? event.target : document.body;
    const field = target.closest("input[type=search]");
    if (field) {
      this.#searching(event, field);
      return;
    }
    if (target.closest("[role=tab]") && event.key.startsWith("Arrow")) return;
    const lists = { ArrowUp: "back", ArrowDown: "on" };
    const step = KEYS[event.key] || (target.closest("[role=listbox]") && lists[event.key]);
    if (step) this.active.step(step);
    else if (event.key === "/") this.active.list.field.focus();
    else if (event.key === "?") document.querySelector("dialog").showModal();
    else return;
    event.preventDefault();
  }

  #searching(event, field) {
    if (event.key === "Enter") this.active.step(event.shiftKey ? "hit-before" : "hit-next");
    else if (event.key === "Escape") {
      field.value = "";
      this.active.list.search();
      this.active.list.box.focus();
    } else return;
    event.preventDefault();
  }
}

function begin() {
  role(document, "help").addEventListener("click", () => document.querySelector("dialog").showModal());
  role(document, "theme").addEventListener("click", () => {
    const root = document.documentElement;
    const theirs = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
    const dark = (root.dataset.theme || theirs) === "dark";
    root.dataset.theme = dark ? "light" : "dark";
  });
  try {
    new Page(readData());
  } catch (error) {
    const words = `The data in this page is damaged (${error.message}): write the page anew with turnwheel inspect.`;
    const problem = make("p", { class: "problem", "data-role": "problem", role: "alert" }, words);
    document.querySelector("main").replaceChildren(problem);
  }
  document.body.dataset.ready = "true";
}

begin();
