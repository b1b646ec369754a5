// Shows blocks of content: text, thinking, calls, images, and JSON of any other kind.

const LONG = 4000; // characters of a text that are shown at first
const IMAGE = /^image\/(png|jpeg|gif|webp)$/;

function longText(text, className) {
  if (text.length <= LONG) return make("pre", { class: className }, text);
  const pre = make("pre", { class: className }, text.slice(0, LONG));
  const rest = () => {
    pre.textContent = text;
    more.remove();
  };
  const words = `show all ${NUMBER.format(text.length)} characters`;
  const more = make("button", { type: "button", class: "more", click: rest }, words);
  return make("div", {}, pre, more);
}

function showBlock(block) {
  switch (block.kind) {
    case "text":
      return longText(block.text, "text");
    case "thinking":
      return titled("thinking", make("b", {}, block.redacted ? "thinking, redacted" : "thinking"), block.text, "text");
    case "call":
      return titled("call", [make("b", {}, "→ ", block.tool), make("small", {}, block.call)], block.text, "code");
    case "image":
      return showImage(block);
    case "note":
      return make("p", { class: "quiet" }, block.text);
  }
  return longText(block.text, "code");
}

function titled(className, title, text, form) {
  return make("div", { class: className }, title, longText(text, form));
}

function showImage(block) {
  if (!IMAGE.test(block.type)) return make("p", { class: "quiet" }, "an image that is not shown");
  const image = make("img", { alt: `image, ${block.type}`, loading: "lazy" });
  const instead = make("p", { class: "quiet" }, `an image (${block.type}) that cannot be read`);
  image.addEventListener("error", () => image.replaceWith(instead));
  image.src = `data:${block.type};base64,${block.data}`;
  return image;
}

function showResult(run, result) {
  return [
    ...result.blocks.map((place) => showBlock(run.block(place))),
    result.details ? make("details", {}, make("summary", {}, "details"), longText(result.details, "code")) : null,
    result.terminate ? make("p", { class: "quiet" }, "The tool wants no further turn.") : null,
  ];
}
