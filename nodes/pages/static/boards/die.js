// A die, drawn.

import { s } from "../dom.js";

/** By face: which of the nine places have a pip. */
const PIPS = ["", "4", "26", "246", "0268", "02468", "023568"];

/** @param {number | null} face null: it is not known @param {string} [look] */
export function die(face, look = "") {
  const label = face === null ? "A hidden die" : `A ${face}`;
  return s(
    "svg",
    { class: `die ${look}`, viewBox: "0 0 40 40", role: "img", "aria-label": label },
    s("rect", { x: 1.5, y: 1.5, width: 37, height: 37, rx: 8 }),
    face === null
      ? s("text", { x: 20, y: 27, "text-anchor": "middle" }, "?")
      : [...PIPS[face]].map((place) =>
          s("circle", {
            cx: 10 + 10 * (Number(place) % 3),
            cy: 10 + 10 * Math.floor(Number(place) / 3),
            r: 3.6,
          }),
        ),
  );
}
