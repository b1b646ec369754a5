// What the answers used, one by one and in total.

const COLUMNS = [["input", "in"], ["output", "out"], ["cacheRead", "cache read"], ["cacheWrite", "cache write"]];
const LATEST = 12; // answers that are shown one by one

class Tokens {
  constructor(run, root, go) {
    Object.assign(this, { run, go, box: role(root, "tokens"), shown: -1 });
  }

  show(at) {
    const number = this.run.marks[at].answers;
    if (this.shown === number) return;
    this.shown = number;
    const answers = this.run.answers.slice(0, number);
    const hidden = Math.max(0, number - LATEST);
    const cost = sum(answers, "cost");
    const told = `${count(number, "answer")}${cost ? `, $${cost.toFixed(4)}` : ""}`;
    this.box.replaceChildren(
      make("div", { class: "bar" }, make("h3", {}, "Tokens"), make("p", {}, number ? told : "none were told of yet")),
      ...(number ? [this.#table(answers, hidden)] : []),
      ...(hidden ? [make("p", { class: "quiet" }, `${count(hidden, "earlier answer")} counted in the total`)] : []),
    );
  }

  #table(answers, hidden) {
    const heads = ["answer", ...COLUMNS.map(([, name]) => name)].map((name) => make("th", { scope: "col" }, name));
    const rows = answers.slice(hidden).map(({ message, turn, entry }) => {
      const jump = make("button", { type: "button", click: () => this.go(entry) }, `turn ${turn}`);
      return usageRow(jump, (key) => message.usage[key]);
    });
    const total = usageRow("total so far", (key) => sum(answers, key));
    const head = make("thead", {}, make("tr", {}, heads));
    return make("table", {}, head, make("tbody", {}, rows), make("tfoot", {}, total));
  }
}

function sum(answers, key) {
  return answers.reduce((total, { message }) => total + message.usage[key], 0);
}

function usageRow(head, usage) {
  const cells = COLUMNS.map(([key]) => make("td", {}, NUMBER.format(usage(key))));
  return make("tr", {}, make("th", { scope: "row" }, head), cells);
}
