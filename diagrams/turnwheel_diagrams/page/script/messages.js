// The messages so far, the newest at the bottom; the answer that is growing is shown as far as it has come.

const RECENT = 30; // messages that are shown before somebody asks for more
const ROLES = { toolResult: "tool result" };

class Messages {
  constructor(run, root, go) {
    this.run = run;
    this.go = go;
    this.box = role(root, "messages");
    this.count = part(root, "count");
    this.made = new Map(); // by number of the message
    this.from = 0;
    this.shown = -1;
    this.earlier = make("button", { type: "button", class: "more", click: () => this.#more() });
    this.growing = null;
  }

  show(at) {
    const mark = this.run.marks[at];
    this.count.textContent = mark.said ? NUMBER.format(mark.said) : "none yet";
    if (mark.said !== this.shown) {
      this.from = Math.max(0, mark.said - RECENT);
      this.#fill(mark.said);
    }
    this.#grow(mark.growing, at);
    this.box.scrollTop = this.box.scrollHeight;
  }

  #more() {
    this.from = Math.max(0, this.from - RECENT);
    this.#fill(this.shown);
  }

  #fill(number) {
    this.shown = number;
    const rows = [];
    for (let each = this.from; each < number; each++) rows.push(this.#message(each));
    this.earlier.textContent = `${count(this.from, "earlier message")}: show more`;
    this.box.replaceChildren(...(this.from ? [this.earlier] : []), ...rows);
    this.growing = null;
  }

  #message(number) {
    if (!this.made.has(number)) {
      const { entry, message } = this.run.said[number];
      this.made.set(number, showMessage(this.run, message, number, () => this.go(entry)));
    }
    return this.made.get(number);
  }

  #grow(start, at) {
    if (this.growing) this.growing.remove();
    this.growing = null;
    if (start < 0) return;
    const message = this.run.message(this.run.entries[start].message);
    const blocks = message.role === "assistant" ? grown(this.run, start, at) : null;
    this.growing = showMessage(this.run, message, null, () => this.go(start), blocks);
    this.box.append(this.growing);
  }
}

function showMessage(run, message, number, go, blocks = null) {
  const name = ROLES[message.role] || message.role;
  const failed = message.failed || message.stop === "error" || message.stop === "aborted";
  const head = make(
    "header", {},
    make("button", { type: "button", click: go, title: "to this entry" }, number === null ? `${name}, growing` : name),
    message.tool ? make("b", {}, message.tool) : null,
    message.failed ? make("em", {}, "error") : null,
    make("small", {}, message.call || message.model || ""),
  );
  const shown = blocks || message.blocks.map((place) => run.block(place));
  const foot = number !== null && message.stop ? usageInWords(message) : null;
  return make(
    "article", { class: `message ${failed ? "failed" : ""}`, "data-from": message.role },
    head,
    shown.map(showBlock),
    message.error ? make("p", { class: "error" }, message.error) : null,
    message.details ? make("details", {}, make("summary", {}, "details"), longText(message.details, "code")) : null,
    foot ? make("footer", {}, foot) : null,
  );
}

function usageInWords(message) {
  const used = message.usage;
  const tokens = used ? ` · ${NUMBER.format(used.input)} tokens in, ${NUMBER.format(used.output)} out` : "";
  return `stop reason ${message.stop}${tokens}`;
}

// The blocks of an answer after the steps between two entries.
function grown(run, start, end) {
  const blocks = run.message(run.entries[start].message).blocks.map((place) => ({ ...run.block(place) }));
  for (let at = start + 1; at <= end; at++) {
    const entry = run.entries[at];
    if (entry.type === "message_update") growBy(run, blocks, entry);
  }
  return blocks.filter(Boolean);
}

function growBy(run, blocks, entry) {
  if (entry.whole !== undefined) {
    blocks[entry.block] = run.block(entry.whole);
    return;
  }
  if (!blocks[entry.block]) {
    const kind = entry.step.startsWith("thinking") ? "thinking" : entry.step.startsWith("toolcall") ? "call" : "text";
    blocks[entry.block] = { kind, text: "", tool: "", call: "" };
  }
  const block = blocks[entry.block];
  if (entry.text) block.text += entry.text;
  if (entry.tool) Object.assign(block, { tool: entry.tool, call: entry.call });
}
