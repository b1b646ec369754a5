// Says in a few words what an entry is; and which words of it a search looks at.

const NUMBER = new Intl.NumberFormat("en");

function count(number, one, many = `${one}s`) {
  return `${NUMBER.format(number)} ${number === 1 ? one : many}`;
}

function milliseconds(time) {
  return time < 10000 ? `${NUMBER.format(time)} ms` : `${NUMBER.format(Math.round(time / 100) / 10)} s`;
}

function moment(time) {
  const date = new Date(time);
  return Number.isNaN(date.getTime()) ? null : `${date.toISOString().slice(0, 19).replace("T", " ")} UTC`;
}

function leads(rule) {
  return rule.source === rule.dest ? `stays in ${rule.dest}` : `${rule.source} → ${rule.dest}`;
}

function condition(rule) {
  return rule.guards.length ? `${rule.trigger} [${rule.guards.join(" ")}]` : rule.trigger;
}

function blocksInWords(run, places, most) {
  return places.map((place) => run.block(place)).map((block) => {
    if (block.kind === "image") return `image ${block.type}`;
    const text = block.text.slice(0, most);
    return block.kind === "call" ? `${block.tool} ${text}` : text;
  }).join(" ");
}

function messageInWords(run, message, most) {
  const words = [message.role, message.tool, blocksInWords(run, message.blocks, most), message.error];
  return words.filter(Boolean).join(" ");
}

// The two parts of a row: what it is, and what it says, texts no longer than `most`.
function labelOf(run, entry, most = 200) {
  switch (entry.kind) {
    case "decision": {
      const verdict = run.verdict(entry);
      const machine = entry.index === undefined ? verdict.machine : `${verdict.machine} ${entry.index + 1}`;
      return [machine, `${leads(verdict)}  ${condition(verdict)}`];
    }
    case "effect":
      return [entry.type, [entry.tool, entry.model].filter(Boolean).join(" ")];
    case "ended":
      return ["ended", endInWords(entry)];
  }
  return [entry.type, eventInWords(run, entry, most)];
}

function endInWords(entry) {
  const aborted = entry.aborted === true ? "aborted" : entry.aborted ? `aborted: ${entry.aborted}` : null;
  const failed = entry.failure === null ? null : `failed: ${entry.failure}`;
  return [aborted, failed].filter(Boolean).join("; ") || "normally";
}

function eventInWords(run, entry, most) {
  switch (entry.type) {
    case "message_start":
    case "message_end":
      return messageInWords(run, run.message(entry.message), most);
    case "message_update":
      return [entry.step, entry.tool, entry.text].filter(Boolean).join(" ");
    case "tool_execution_start":
      return `${entry.tool} ${entry.text.slice(0, most)}`;
    case "tool_execution_update":
    case "tool_execution_end":
      return `${entry.tool} ${entry.failed ? "error: " : ""}${blocksInWords(run, entry.result.blocks, most)}`;
    case "turn_end":
      return entry.results.length ? count(entry.results.length, "result") : "";
    case "agent_end":
      return count(entry.messages, "message");
  }
  return "";
}

// All that a search finds an entry by, in lower case.
function wordsOf(run, entry) {
  const words = [entry.kind, ...labelOf(run, entry, Infinity), entry.call, entry.result && entry.result.details];
  if (entry.kind === "decision") {
    const verdict = run.verdict(entry);
    words.push(verdict.name, verdict.why);
  }
  return words.filter(Boolean).join(" ").toLowerCase();
}
