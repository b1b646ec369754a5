// Shapes of JSON values: functions of a value and its path that throw an error where the value does not fit.

function misfit(path, wanted) {
  throw new Error(`${path || "scenario"}: expected ${wanted}`);
}

function shape(wanted, fits) {
  return (value, path) => fits(value) || misfit(path, wanted);
}

export const anything = () => {};
export const text = shape("a text", (value) => typeof value === "string");
export const flag = shape("true or false", (value) => typeof value === "boolean");
export const time = shape("a number", Number.isFinite);
export const later = shape("a number from 0 on", (value) => Number.isFinite(value) && value >= 0);

/** A whole number from 0 to `most`. */
export function count(most = Number.MAX_SAFE_INTEGER) {
  return shape(`a whole number from 0 to ${most}`, (value) => Number.isInteger(value) && value >= 0 && value <= most);
}

export function word(...words) {
  return shape(`one of ${words.join(", ")}`, (value) => words.includes(value));
}

/** null, or what `other` describes. */
export function maybe(other) {
  return (value, path) => value === null || other(value, path);
}

export function list(item) {
  return (value, path) => {
    if (!Array.isArray(value)) misfit(path, "a list");
    value.forEach((one, at) => item(one, `${path}[${at}]`));
  };
}

/** An object of any keys whose values are alike. */
export function table(item) {
  return (value, path) => {
    if (!isObject(value)) misfit(path, "an object");
    for (const [key, one] of Object.entries(value)) item(one, `${path}.${key}`);
  };
}

/** An object of these keys and no others; a shape is that of an optional key, `required` lists the others. */
export function object(shapes, required = []) {
  return (value, path) => {
    if (!isObject(value)) misfit(path, "an object");
    for (const [key, one] of Object.entries(value)) {
      if (!Object.hasOwn(shapes, key)) throw new Error(`${path || "scenario"}: unknown key ${JSON.stringify(key)}`);
      shapes[key](one, path ? `${path}.${key}` : key);
    }
    for (const key of required) if (!Object.hasOwn(value, key)) misfit(path, `a key ${key}`);
  };
}

/** A value whose shape depends on whether it is a list, an object, a text, …; `kinds` are named as typeof does. */
export function either(kinds) {
  return (value, path) => {
    const kind = Array.isArray(value) ? "list" : value === null ? "null" : typeof value;
    const found = Object.hasOwn(kinds, kind) ? kinds[kind] : misfit(path, Object.keys(kinds).join(" or "));
    found(value, path);
  };
}

/** An object with at least these keys. */
export function having(shapes) {
  return (value, path) => {
    if (!isObject(value)) misfit(path, "an object");
    for (const [key, one] of Object.entries(shapes)) one(value[key], `${path}.${key}`);
  };
}

function isObject(value) {
  return value !== null && typeof value === "object" && !Array.isArray(value);
}
