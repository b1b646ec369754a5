// Makes elements. Strings among the children become text nodes: nothing that a run says is ever parsed as markup.

function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name, value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== undefined && value !== null && value !== false) element.setAttribute(name, value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

function part(root, name) {
  return root.querySelector(`[data-part="${name}"]`);
}

function role(root, name) {
  return root.querySelector(`[data-role="${name}"]`);
}

// Scroll a box so that the stretch from start to end is in sight, along one axis, and no further than needed.
function reveal(box, start, end, side) {
  const [offset, size] = side === "left" ? ["scrollLeft", "clientWidth"] : ["scrollTop", "clientHeight"];
  if (start < box[offset]) box[offset] = start;
  else if (end > box[offset] + box[size]) box[offset] = end - box[size];
}
