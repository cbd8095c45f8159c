// Rock-paper-scissors: a choice that nobody sees, and the rounds before.

import { h, s } from "../dom.js";
import { isLegal } from "../match_state.js";
import { choice } from "./choice.js";

const HANDS = ["rock", "paper", "scissors"];

/** @type {import("./boards.js").Board} */
export const rockPaperScissors = {
  game: "rock-paper-scissors",
  fits: (view) => Array.isArray(view.rounds) && !!view.scores && "waitingFor" in view,

  draw(scene) {
    const { view, names } = scene;
    const seats = Object.keys(view.scores);
    return [
      h(
        "div",
        { class: "duel" },
        seats.map((seat, n) => [
          n > 0 && h("span", { class: "against", "aria-hidden": "true" }, "–"),
          h(
            "div",
            { class: ["side", `seat-${names.place(seat)}`] },
            h("strong", {}, names.orYou(seat)),
            h("span", { class: "score number" }, view.scores[seat]),
            h("span", { class: "muted small" }, standing(view, seat)),
          ),
        ]),
      ),
      scene.seat && view.waitingFor.length > 0 && hands(scene),
      view.rounds.length > 0 && rounds(view, names),
    ];
  },

  tell({ event, snapshot }) {
    const { rounds } = snapshot.G;
    const last = rounds.at(-1);
    const done =
      last && !snapshot.G.waitingFor.includes(event.playerID ?? "") ? false : !!last;
    const hand = event.payload?.hand;
    if (done)
      return `chooses${hand ? ` ${hand}` : ""}; round ${rounds.length} is shown`;
    return hand ? `chooses ${hand}` : "chooses in secret";
  },
};

function standing(view, seat) {
  if (!view.waitingFor.length) return "";
  return view.waitingFor.includes(seat) ? "is choosing" : "has chosen";
}

function hands(scene) {
  const mine = scene.view.myChoice ?? scene.pending?.payload?.hand;
  return h(
    "div",
    { class: "hands", role: "group", "aria-label": "Your hand for this round" },
    HANDS.map((hand) => {
      const open = scene.open && isLegal(scene.snapshot, "choose", { hand }) === true;
      const look = `hand-choice${mine === hand ? " picked" : ""}`;
      return choice(
        { ...scene, open },
        "choose",
        { hand },
        [drawing(hand), h("span", {}, word(hand))],
        look,
      );
    }),
  );
}

function rounds(view, names) {
  const seats = Object.keys(view.scores);
  const table = h(
    "table",
    { class: "rounds" },
    h(
      "thead",
      {},
      h(
        "tr",
        {},
        h("th", { scope: "col" }, "Round"),
        seats.map((seat) => h("th", { scope: "col" }, names.of(seat))),
        h("th", { scope: "col" }, "Goes to"),
      ),
    ),
    h(
      "tbody",
      {},
      view.rounds.map((round, n) =>
        h(
          "tr",
          {},
          h("th", { scope: "row", class: "number" }, n + 1),
          seats.map((seat) =>
            h(
              "td",
              { class: [round.winner === seat && "won"] },
              word(round.choices[seat]),
            ),
          ),
          h("td", {}, round.winner === null ? "nobody" : names.of(round.winner)),
        ),
      ),
    ),
  );
  return h(
    "div",
    { class: "scroll", tabindex: 0, role: "region", "aria-label": "Rounds" },
    table,
  );
}

function drawing(hand) {
  const shapes = {
    rock: [s("path", { d: "M10 30 7 20l6-10 11-3 8 6 1 11-7 9H14z" })],
    paper: [s("path", { d: "M11 6h13l6 6v22H11zM24 6v6h6M16 19h9M16 25h9" })],
    scissors: [
      s("circle", { cx: 11, cy: 29, r: 4.5 }),
      s("circle", { cx: 29, cy: 29, r: 4.5 }),
      s("path", { d: "M13.5 25 28 6M26.5 25 12 6" }),
    ],
  };
  return s("svg", { viewBox: "0 0 40 40", "aria-hidden": "true" }, shapes[hand]);
}

function word(hand) {
  return hand.charAt(0).toUpperCase() + hand.slice(1);
}
