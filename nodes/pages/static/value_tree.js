// A JSON value as a tree that opens and closes, and keeps what was opened.

import { h } from "./dom.js";

const INLINE_MAX = 56; // characters of a value that stays on its line
const FLAT_MAX = 480; // of a list of plain values: it goes on over some lines
const ITEMS_MAX = 100; // shown at once of a list or an object

/** A value on one line. @param {any} value @param {number} [most] */
export function inline(value, most = 200) {
  const text = JSON.stringify(value) ?? "null";
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}

/** A value on as many lines as it needs. @param {any} value */
export function pretty(value) {
  const text = JSON.stringify(value) ?? "null";
  return text.length <= 60 ? text : JSON.stringify(value, null, 2);
}

export class ValueTree {
  constructor() {
    this._toggled = new Map(); // by path: whether it was opened or closed by hand
    this._whole = new Set(); // paths of which all is shown
  }

  /**
   * @param {any} value @param {string} name of the whole
   * @param {Iterable<string>} [changed] paths, as in a diff
   */
  draw(value, name, changed = []) {
    return h(
      "div",
      { class: "tree" },
      this._value(name, "$", value, new Set(changed), 0),
    );
  }

  _value(name, path, value, changed, depth) {
    const mark = changed.has(path) && "changed";
    const key = name === null ? null : [h("span", { class: "key" }, name), ": "];
    if (value === null || typeof value !== "object" || isShort(value)) {
      return h(
        "div",
        { class: ["leaf", mark] },
        key,
        h("span", { class: kindOf(value) }, spaced(value)),
      );
    }
    const list = Array.isArray(value);
    const entries = list
      ? value.map((item, place) => [String(place), item])
      : Object.entries(value);
    const touched = Boolean(mark) || [...changed].some((each) => isWithin(each, path));
    const open = this._toggled.get(path) ?? (depth < 2 || touched);
    const parts = h("div", { class: "parts" });
    const fill = () => {
      const most = this._whole.has(path) ? entries.length : ITEMS_MAX;
      parts.replaceChildren(
        ...entries.slice(0, most).map(([part, item]) => {
          const below = list ? `${path}[${part}]` : `${path}.${part}`;
          return this._value(part, below, item, changed, depth + 1);
        }),
        ...(entries.length > most
          ? [this._more(path, entries.length - most, fill)]
          : []),
      );
    };
    if (open) fill();
    const toggled = (event) => {
      const now = event.target.open;
      this._toggled.set(path, now);
      if (now && !parts.hasChildNodes()) fill();
    };
    const size = list ? `[${entries.length}]` : `{${entries.length}}`;
    const details = h(
      "details",
      { class: [touched && "touched"], open, "data-path": path },
      h(
        "summary",
        { "data-key": `tree ${path}` },
        name,
        " ",
        h("span", { class: "size" }, size),
      ),
      parts,
    );
    // `toggle` comes for being made open, too; only a hand is to be remembered
    queueMicrotask(() =>
      requestAnimationFrame(() => details.addEventListener("toggle", toggled)),
    );
    return details;
  }

  _more(path, count, fill) {
    const all = () => {
      this._whole.add(path);
      fill();
    };
    return h(
      "button",
      { class: "quiet compact", type: "button", onclick: all },
      `${count} more`,
    );
  }
}

function isShort(value) {
  const list = Array.isArray(value);
  const parts = list ? value : Object.values(value);
  if (parts.length > ITEMS_MAX) return false;
  const most = list ? FLAT_MAX : INLINE_MAX;
  const flat = parts.every((part) => part === null || typeof part !== "object");
  return flat && inline(value, most + 1).length <= most;
}

/** As JSON, with room to break lines between its parts. */
function spaced(value) {
  if (value === null || typeof value !== "object") return inline(value, 2000);
  if (Array.isArray(value)) return `[${value.map((part) => inline(part)).join(", ")}]`;
  const parts = Object.entries(value);
  return `{${parts.map(([key, part]) => `${inline(key)}: ${inline(part)}`).join(", ")}}`;
}

function isWithin(path, above) {
  return (
    path.startsWith(above) && (path[above.length] === "." || path[above.length] === "[")
  );
}

function kindOf(value) {
  if (value === null) return "null";
  return typeof value === "object" ? "flat" : typeof value;
}
