// Liar's dice: one's own dice, the last bid, and a higher one or a challenge.

import { h } from "../dom.js";
import { isLegal, payloadsOf } from "../match_state.js";
import { choice } from "./choice.js";
import { die } from "./die.js";

/** @type {import("./boards.js").Board} */
export const liarsDice = {
  game: "liars-dice",
  fits: (view) => !!view.left && "rolled" in view && "bid" in view,

  draw(scene) {
    const { view, snapshot } = scene;
    const may = (event) => scene.open && isLegal(snapshot, event, null) === true;
    return [
      h(
        "ul",
        { class: "cups" },
        Object.keys(view.left).map((seat) => cup(scene, seat)),
      ),
      view.shown && !view.bid && shown(scene),
      view.bid && bid(scene, view.bid),
      h(
        "div",
        { class: "choices" },
        may("roll") && choice(scene, "roll", null, "Roll your dice", "primary"),
        may("challenge") && choice(scene, "challenge", null, "Challenge the bid"),
      ),
      scene.open && raise(scene),
    ];
  },

  tell({ event, snapshot }) {
    if (event.event === "roll") return "rolls";
    if (event.event === "bid" && event.payload) return `bids ${times(event.payload)}`;
    const said = snapshot.G.shown;
    if (event.event !== "challenge" || !said) return event.event;
    return `challenges: there were ${said.found}`;
  },
  reasons: {
    more_than_there_are: "There are not so many dice.",
    no_bid: "There is no bid to challenge.",
    not_higher: "That bid is not higher.",
  },
};

function cup(scene, seat) {
  const { view, names } = scene;
  const left = view.left[seat];
  const mine = seat === scene.seat && view.myDice;
  const dice = mine || Array.from({ length: left }, () => null);
  const rolled = view.rolled.includes(seat);
  const state = left === 0 ? "out" : rolled ? "rolled" : "to roll";
  return h(
    "li",
    { class: ["cup", left === 0 && "out", moves(scene, seat) && "moving"] },
    h(
      "span",
      { class: "row" },
      h("span", { class: names.dot(seat) }),
      h("strong", {}, names.orYou(seat)),
      h("span", { class: "muted small" }, state),
    ),
    h(
      "span",
      { class: ["dice", !rolled && "unrolled"] },
      dice.map((face) => die(face)),
    ),
  );
}

function moves(scene, seat) {
  return scene.snapshot.derived.activePlayers.includes(seat);
}

function bid(scene, said) {
  return h(
    "p",
    { class: "bid" },
    h(
      "span",
      {},
      `${scene.names.orYou(said.seat)} bid${said.seat === scene.seat ? "" : "s"} at least`,
    ),
    h("strong", { class: "number" }, `${said.count} ×`),
    die(said.face),
  );
}

/** The dice of the last round. */
function shown(scene) {
  const { dice, bid: said, found, loser } = scene.view.shown;
  const rows = Object.entries(dice).filter(([, faces]) => faces);
  return h(
    "section",
    { class: "shown stack tight" },
    h(
      "p",
      {},
      `The bid was ${times(said)}; there were ${found}. ${scene.names.of(loser)} loses a die.`,
    ),
    rows.map(([seat, faces]) =>
      h(
        "div",
        { class: "row" },
        h("span", { class: "who" }, scene.names.of(seat)),
        h(
          "span",
          { class: "dice" },
          faces.map((face) => die(face, face === said.face ? "counted" : "")),
        ),
      ),
    ),
  );
}

/** A higher bid: how many, and of which face. */
function raise(scene) {
  const bids = payloadsOf(scene.snapshot, "bid");
  if (!bids.length) return null;
  const { memory } = scene;
  const counts = [...new Set(bids.map(({ count }) => count))];
  if (!counts.includes(memory.count)) memory.count = counts[0];
  const faces = bids
    .filter(({ count }) => count === memory.count)
    .map(({ face }) => face);
  if (!faces.includes(memory.face)) memory.face = faces[0];
  const set = (name, value) => () => {
    memory[name] = value;
    scene.redraw();
  };
  const step = (by, text, label) => {
    const next = counts[counts.indexOf(memory.count) + by];
    return h(
      "button",
      {
        type: "button",
        class: "compact",
        "data-key": `count/${by}`,
        "aria-label": label,
        disabled: next === undefined,
        onclick: set("count", next),
      },
      text,
    );
  };
  const payload = { count: memory.count, face: memory.face };
  return h(
    "div",
    { class: "raise stack", role: "group", "aria-label": "Your bid" },
    h(
      "div",
      { class: "row" },
      step(-1, "−", "One less"),
      h(
        "output",
        { class: "count number", "aria-label": "How many" },
        `${memory.count} ×`,
      ),
      step(1, "+", "One more"),
      h(
        "div",
        { class: "row faces", role: "group", "aria-label": "Of which face" },
        [1, 2, 3, 4, 5, 6].map((face) =>
          h(
            "button",
            {
              type: "button",
              class: "face",
              "data-key": `face/${face}`,
              "aria-label": `Face ${face}`,
              "aria-pressed": String(face === memory.face),
              disabled: !faces.includes(face),
              onclick: set("face", face),
            },
            die(face),
          ),
        ),
      ),
    ),
    h(
      "div",
      { class: "choices" },
      choice(scene, "bid", payload, `Bid ${times(payload)}`, "primary"),
    ),
  );
}

const FACES = ["", "one", "two", "three", "four", "five", "six"];

function times({ count, face }) {
  const word = FACES[face];
  return count === 1
    ? `1 ${word}`
    : `${count} ${word === "six" ? "sixes" : `${word}s`}`;
}
