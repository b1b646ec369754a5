// How a scenario changes a list of messages, and how it writes content.

import { fail, fullMessage } from "./trace.mjs";

/** Return a new list: `messages` after an edit, or the list that is given instead. */
export function edited(messages, edit) {
  if (!edit) return messages.slice();
  if (Array.isArray(edit)) return edit.map(fullMessage);
  if (edit.throws !== undefined) fail(edit.throws);
  const isSystem = (message) => message.role === "system";
  // By place: a message that was put in once more is there twice.
  const others = [...messages.keys()].filter((at) => !isSystem(messages[at])).slice(edit.dropFirst ?? 0);
  const kept = new Set(others.slice(Math.max(0, others.length - (edit.keepLast ?? others.length))));
  const left = messages.filter((message, at) => isSystem(message) || kept.has(at));
  return [...left, ...(edit.append ?? []).map(fullMessage)];
}

/** Return an object in which a `text`, short for content of one block, is spelled out. */
export function withContent({ text, ...rest }) {
  return text === undefined ? rest : { ...rest, content: [{ type: "text", text }] };
}
