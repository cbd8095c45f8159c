// The inspector's keys; the same as in the terminal.

import { h } from "./dom.js";

const TOLD = [
  ["← →", "the revision before, the next one; ↑ ↓ in the list of steps"],
  ["Home End", "the creation; the newest revision, where a match is followed"],
  ["Space", "play, pause"],
  ["+ −", "play faster, slower"],
  ["n p", "to where the turn changes, on or back"],
  ["g", "go to a revision"],
  ["v V", "see it as the next seat, as the one before"],
  ["?", "these keys"],
];

const VERTICAL = new Set(["ArrowUp", "ArrowDown", "PageUp", "PageDown"]);

/** @param {import("./inspector.js").Inspector} inspector @param {AbortSignal} signal */
export function onKeys(inspector, signal) {
  const { playback } = inspector;
  const keys = {
    ArrowLeft: () => playback.step(-1),
    ArrowRight: () => playback.step(1),
    ArrowUp: () => playback.step(-1), // these four in the list alone: else they scroll
    ArrowDown: () => playback.step(1),
    PageUp: () => playback.step(-10),
    PageDown: () => playback.step(10),
    Home: () => playback.go(0),
    End: () => playback.go(Infinity),
    " ": () => playback.toggle(),
    "+": () => playback.faster(1),
    "=": () => playback.faster(1),
    "-": () => playback.faster(-1),
    n: () => inspector.turn(1),
    p: () => inspector.turn(-1),
    v: () => inspector.viewNext(1),
    V: () => inspector.viewNext(-1),
    g: () => inspector.askForRevision(),
    "?": () => showKeys(),
  };
  document.addEventListener(
    "keydown",
    (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      if (document.querySelector("dialog[open]")) return;
      const run = keys[event.key];
      if (!run || belongsTo(event)) return;
      event.preventDefault();
      run();
    },
    { signal },
  );
}

/** Say which keys there are. */
export function showKeys() {
  const told = TOLD.map(([keys, does]) => [
    h(
      "dt",
      {},
      keys.split(" ").map((key, place) => [place > 0 && " ", h("kbd", {}, key)]),
    ),
    h("dd", {}, does),
  ]);
  const dialog = h(
    "dialog",
    { "aria-labelledby": "keys-title", onclose: () => dialog.remove() },
    h(
      "form",
      { class: "stack", method: "dialog" },
      h("h2", { id: "keys-title" }, "Keys"),
      h("dl", {}, told),
      h("div", { class: "row" }, h("button", { autofocus: true }, "Close")),
    ),
  );
  document.body.append(dialog);
  dialog.showModal();
}

/** Whether the key is for what has the focus: it writes, presses or opens that. */
function belongsTo(event) {
  const target = /** @type {Element} */ (event.target);
  const moves = /^(Arrow|Page|Home|End)/.test(event.key);
  if (target.closest("input[type=range]")) return moves;
  if (target.closest("input, select, textarea")) return true;
  if (VERTICAL.has(event.key)) return !target.closest("[role=listbox]");
  const presses = target.closest("button, a, summary");
  return Boolean(presses) && (event.key === " " || event.key === "Enter");
}
