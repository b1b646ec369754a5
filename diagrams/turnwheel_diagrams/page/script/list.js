// The list of entries: only the rows in sight are in the page; filter and search look at all of them.

const ROW = 24; // height of a row in pixels, as in the style sheet
const SPARE = 8; // rows beyond the edges
const SPARE_IN_SIGHT = 3; // rows around the current one

class EntryList {
  constructor(run, root, key, go, difference) {
    Object.assign(this, { run, key, go, difference, at: 0, query: "", hits: [], hit: new Set(), words: null });
    this.box = role(root, "entries");
    this.field = role(root, "search");
    this.told = role(root, "hits");
    this.count = role(root, "shown");
    this.kinds = [...root.querySelectorAll('[data-role="filter"]')];
    this.updates = part(root, "updates");
    this.inner = make("div", { class: "rows", role: "presentation" });
    this.box.append(this.inner);
    this.box.addEventListener("scroll", () => requestAnimationFrame(() => this.#rows()));
    this.box.addEventListener("click", (event) => this.#clicked(event));
    new ResizeObserver(() => this.#rows()).observe(this.box);
    for (const kind of [...this.kinds, this.updates]) kind.addEventListener("change", () => this.filter());
    this.field.addEventListener("input", () => this.search());
    this.filter();
  }

  filter() {
    const wanted = new Set(this.kinds.filter((kind) => kind.checked).map((kind) => kind.value));
    const passes = (entry) => wanted.has(entry.kind) && (this.updates.checked || !isUpdate(entry));
    this.shown = [];
    this.place = new Int32Array(this.run.entries.length).fill(-1); // by entry: its row
    this.run.entries.forEach((entry, at) => {
      if (passes(entry)) this.place[at] = this.shown.push(at) - 1;
    });
    this.inner.style.height = `${this.shown.length * ROW}px`;
    this.count.textContent = `${NUMBER.format(this.shown.length)} of ${NUMBER.format(this.run.entries.length)}`;
    this.search();
  }

  search() {
    this.query = this.field.value.trim().toLowerCase();
    if (this.query && !this.words) this.words = this.run.entries.map((entry) => wordsOf(this.run, entry));
    this.hits = this.query ? this.shown.filter((at) => this.words[at].includes(this.query)) : [];
    this.hit = new Set(this.hits);
    this.show(this.at);
  }

  show(at) {
    this.at = at;
    const place = this.place[at];
    if (place >= 0) this.#reveal(place * ROW);
    const here = this.hit.has(at) ? `, this is number ${NUMBER.format(this.hits.indexOf(at) + 1)}` : "";
    this.told.textContent = this.query ? `${count(this.hits.length, "hit")}${here}` : "";
    this.#rows();
  }

  // A row nearby is scrolled to, with some rows around it; one that is further away gets into the middle.
  #reveal(top) {
    const half = this.box.clientHeight / 2;
    const middle = this.box.scrollTop + half;
    if (Math.abs(top - middle) > 2 * half) this.box.scrollTop = top - half;
    else reveal(this.box, top - SPARE_IN_SIGHT * ROW, top + (SPARE_IN_SIGHT + 1) * ROW, "top");
  }

  // The next entry of a sorted list behind (or before) the current one; the current one where there is none.
  next(places, step) {
    const found = step > 0 ? places.find((at) => at > this.at) : places.findLast((at) => at < this.at);
    return found === undefined ? this.at : found;
  }

  nextHit(step) {
    if (!this.hits.length) return this.at;
    const found = this.next(this.hits, step);
    return found !== this.at ? found : this.hits.at(step > 0 ? 0 : -1);
  }

  #rows() {
    const first = Math.max(0, Math.floor(this.box.scrollTop / ROW) - SPARE);
    const last = Math.min(this.shown.length, Math.ceil((this.box.scrollTop + this.box.clientHeight) / ROW) + SPARE);
    const rows = [];
    for (let place = first; place < last; place++) rows.push(this.#row(place));
    this.inner.replaceChildren(...rows);
    const here = this.place[this.at];
    if (here >= first && here < last) this.box.setAttribute("aria-activedescendant", `${this.key}-${this.at}`);
    else this.box.removeAttribute("aria-activedescendant");
  }

  #row(place) {
    const at = this.shown[place];
    const entry = this.run.entries[at];
    const [label, words] = labelOf(this.run, entry);
    const current = at === this.at;
    const row = make(
      "div",
      {
        id: `${this.key}-${at}`, role: "option", class: this.hit.has(at) ? "row hit" : "row",
        "data-entry": at, "data-kind": entry.kind, "aria-current": current ? "true" : null, "aria-selected": current,
        "aria-setsize": this.shown.length, "aria-posinset": place + 1,
      },
      make("span", { class: "at" }, entry.at),
      make("span", { class: "label" }, label),
      make("span", { class: "words" }, words),
    );
    if (entry.kind === "decision" && this.run.verdict(entry).stops) row.classList.add("stops");
    if (this.difference === at) row.classList.add("differs");
    row.style.top = `${place * ROW}px`;
    return row;
  }

  #clicked(event) {
    const row = event.target.closest("[data-entry]");
    if (row) this.go(Number(row.dataset.entry));
  }
}

function isUpdate(entry) {
  return entry.type === "message_update" || entry.type === "tool_execution_update";
}
