// A small picture for each game that has a board here.

import { s } from "./dom.js";

const dots = (...places) =>
  places.map(([cx, cy]) => s("circle", { cx, cy, r: 2.4, class: "full" }));

const DRAWINGS = {
  "tic-tac-toe": () => [
    s("path", { d: "M7 7l8 8M15 7l-8 8" }),
    s("circle", { cx: 28, cy: 28, r: 5 }),
    s("path", { d: "M20 5v30M5 20h30", class: "thin" }),
  ],
  "connect-four": () => [
    s("rect", { x: 5, y: 6, width: 30, height: 28, rx: 4, class: "thin" }),
    s("circle", { cx: 12, cy: 27, r: 3, class: "full" }),
    s("circle", { cx: 20, cy: 20, r: 3, class: "full" }),
    s("circle", { cx: 28, cy: 13, r: 3, class: "full" }),
    s("circle", { cx: 28, cy: 27, r: 3 }),
  ],
  reversi: () => [
    s("circle", { cx: 14, cy: 14, r: 7, class: "full" }),
    s("circle", { cx: 26, cy: 26, r: 7 }),
  ],
  chess: () => [
    s("path", {
      d: "M11 34h19M13 30c0-8 6-9 6-14l-7 3-3-4 8-9 2-2 1 3c7 2 9 9 8 23z",
      class: "full",
    }),
  ],
  battleship: () => [s("path", { d: "M4 24h32l-5 8H9zM12 24v-7h12v7M18 17V9h5" })],
  "crazy-eights": () => [
    s("rect", { x: 6, y: 8, width: 18, height: 26, rx: 3, class: "thin" }),
    s("rect", { x: 16, y: 5, width: 18, height: 26, rx: 3, class: "paper" }),
    s("path", { d: "M25 18.5a3.5 3.5 0 1 0-.1 0a4.2 4.2 0 1 0 .1 0" }),
  ],
  "liars-dice": () => [
    s("path", { d: "M9 9h22l-3 24H12z", class: "thin" }),
    ...dots([16, 17], [24, 25], [20, 21]),
  ],
  "pig-dice": () => [
    s("rect", { x: 7, y: 7, width: 26, height: 26, rx: 6, class: "thin" }),
    ...dots([14, 14], [26, 14], [20, 20], [14, 26], [26, 26]),
  ],
  "rock-paper-scissors": () => [
    s("circle", { cx: 12, cy: 30, r: 4 }),
    s("circle", { cx: 28, cy: 30, r: 4 }),
    s("path", { d: "M14 26 27 6M26 26 13 6" }),
  ],
  "sealed-auction": () => [
    s("path", { d: "M9 19l10-10 8 8-10 10zM24 20l10 10M6 34h16" }),
  ],
};

/** @param {string} game */
export function gameIcon(game) {
  const draw =
    DRAWINGS[game] ??
    (() => [s("circle", { cx: 20, cy: 20, r: 12 }), ...dots([20, 20])]);
  return s(
    "svg",
    { class: "game-icon", viewBox: "0 0 40 40", "aria-hidden": "true" },
    draw(),
  );
}
