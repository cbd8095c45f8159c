// Pig: roll on, or hold.

import { h } from "../dom.js";
import { isLegal } from "../match_state.js";
import { choice } from "./choice.js";
import { die } from "./die.js";

const TARGET = 50;

/** @type {import("./boards.js").Board} */
export const pig = {
  game: "pig-dice",
  fits: (view) => !!view.scores && "pot" in view,

  draw(scene) {
    const { view, snapshot } = scene;
    const may = (event) => scene.open && isLegal(snapshot, event, null) === true;
    const lost = view.lastRoll === 1;
    return [
      h(
        "div",
        { class: "race stack" },
        Object.keys(view.scores).map((seat) => track(scene, seat)),
      ),
      h(
        "div",
        { class: "felt" },
        view.lastRoll === null
          ? h("p", {}, "Nobody has rolled yet.")
          : die(view.lastRoll, `large${lost ? " lost" : ""}`),
        h(
          "p",
          { class: "pot" },
          h("span", { class: "small" }, "in the pot"),
          h("strong", { class: "number" }, view.pot),
        ),
      ),
      h(
        "div",
        { class: "choices" },
        may("roll") && choice(scene, "roll", null, "Roll", "primary"),
        may("hold") && choice(scene, "hold", null, `Hold, and bank ${view.pot}`),
      ),
    ];
  },

  tell({ event, snapshot }) {
    if (event.event === "hold")
      return `holds: ${snapshot.G.scores[event.playerID ?? ""]} points`;
    const die = snapshot.G.lastRoll;
    return die === 1 ? "rolls a 1 and loses the pot" : `rolls a ${die}`;
  },
  reasons: { pot_empty: "There is nothing in the pot." },
};

function track(scene, seat) {
  const { view, names } = scene;
  const score = view.scores[seat];
  const pot = seat === view.toMove ? view.pot : 0;
  const share = (points) => `${Math.min(100, (points / TARGET) * 100)}%`;
  return h(
    "div",
    { class: ["track", seat === view.toMove && "moving", `seat-${names.place(seat)}`] },
    h(
      "div",
      { class: "row spread" },
      h("strong", {}, names.orYou(seat)),
      h("span", { class: "number" }, `${score} of ${TARGET}`),
    ),
    h(
      "div",
      { class: "bar", "aria-hidden": "true" },
      h("span", { class: "banked", style: { width: share(score) } }),
      h("span", {
        class: "hoped",
        style: { width: share(Math.min(pot, TARGET - score)) },
      }),
    ),
  );
}
