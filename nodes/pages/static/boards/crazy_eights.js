// Crazy eights: the pile, the stock, and one's hand.

import { h } from "../dom.js";
import { isLegal } from "../match_state.js";
import { choice } from "./choice.js";

const SUITS = { C: "♣", D: "♦", H: "♥", S: "♠" };
const SUIT_WORDS = { C: "clubs", D: "diamonds", H: "hearts", S: "spades" };
const RANK_WORDS = { T: "ten", J: "jack", Q: "queen", K: "king", A: "ace" };
const TEXT = "\ufe0e";

/** @type {import("./boards.js").Board} */
export const crazyEights = {
  game: "crazy-eights",
  fits: (view) => !!view.cards && "stock" in view && "pile" in view,

  draw(scene) {
    const { view, snapshot } = scene;
    const buttons = Object.entries(WORDS).filter(
      ([event]) => isLegal(snapshot, event, null) === true,
    );
    return [
      h(
        "ul",
        { class: "others row" },
        Object.entries(view.cards).map(([seat, n]) => other(scene, seat, n)),
      ),
      h(
        "div",
        { class: "felt" },
        pile(
          "Stock",
          view.stock
            ? h("span", { class: "card-face back", "aria-hidden": "true" })
            : empty(),
          `${view.stock} cards`,
        ),
        pile(
          "Pile",
          view.top ? face(view.top) : empty(),
          view.suit ? ["goes on with ", suit(view.suit)] : "not dealt yet",
        ),
      ),
      view.myHand && hand(scene),
      scene.memory.eight && scene.open && suits(scene),
      h(
        "div",
        { class: "choices" },
        scene.open &&
          buttons.map(([event, text]) => choice(scene, event, null, text, "primary")),
      ),
    ];
  },

  tell({ event, snapshot }) {
    if (event.event !== "play") return TOLD[event.event] ?? event.event;
    const { card, suit: named } = event.payload ?? { card: snapshot.G.top, suit: null };
    return `plays ${cardSign(card)}${named ? `, goes on with ${SUIT_WORDS[named]}` : ""}`;
  },
  reasons: {
    already_drawn: "You have drawn already.",
    does_not_fit: "That card does not fit.",
    draw_first: "Draw a card before you pass.",
    name_a_suit: "An eight names a suit.",
    not_in_your_hand: "You do not have that card.",
    nothing_to_draw: "There is no card to draw.",
    only_an_eight_names_a_suit: "Only an eight names a suit.",
  },
};

const WORDS = { deal: "Deal the cards", draw: "Draw a card", pass: "Pass" };
const TOLD = { deal: "deals", draw: "draws a card", pass: "passes" };

function other(scene, seat, count) {
  return h(
    "li",
    { class: ["row", seat === scene.view.toMove && "moving"] },
    h("span", { class: scene.names.dot(seat) }),
    scene.names.orYou(seat),
    h("strong", { class: "number" }, count === 1 ? "1 card" : `${count} cards`),
  );
}

function pile(title, top, below) {
  return h(
    "div",
    { class: "pile" },
    h("span", { class: "small" }, title),
    top,
    h("span", { class: "small" }, below),
  );
}

function hand(scene) {
  const cards = [...scene.view.myHand].sort((a, b) => order(a) - order(b));
  return h(
    "div",
    { class: "hand", role: "group", "aria-label": `Your hand, ${cards.length} cards` },
    cards.map((card) => {
      const eight = card[0] === "8";
      const payload = { card, suit: eight ? "C" : null };
      const fits = scene.open && isLegal(scene.snapshot, "play", payload) === true;
      const asked = scene.pending?.payload?.card === card;
      return h(
        "button",
        {
          type: "button",
          class: [
            "card-face",
            red(card) && "red",
            fits && "choosable",
            asked && "asked",
            scene.memory.eight === card && "picked",
          ],
          "data-key": `card/${card}`,
          "aria-label": `${cardName(card)}${fits ? "" : ", does not fit now"}`,
          "aria-disabled": fits ? null : "true",
          onclick: fits
            ? () => (eight ? pick(scene, card) : scene.act("play", payload))
            : null,
        },
        sides(card),
      );
    }),
  );
}

function pick(scene, card) {
  scene.memory.eight = scene.memory.eight === card ? undefined : card;
  scene.redraw();
}

/** With which suit it goes on after an eight. */
function suits(scene) {
  const card = scene.memory.eight;
  return h(
    "div",
    { class: "row prompt", role: "group", "aria-label": "The eight names a suit" },
    h("p", {}, `Play ${cardSign(card)} and go on with`),
    Object.keys(SUITS).map((name) =>
      h(
        "button",
        {
          class: "compact",
          "data-key": `suit/${name}`,
          onclick: () => {
            scene.memory.eight = undefined;
            scene.act("play", { card, suit: name });
          },
        },
        suit(name),
      ),
    ),
  );
}

function face(card) {
  return h(
    "span",
    {
      class: ["card-face", red(card) && "red"],
      role: "img",
      "aria-label": cardName(card),
    },
    sides(card),
  );
}

function sides(card) {
  const [rank, sign] = [card[0] === "T" ? "10" : card[0], SUITS[card[1]] + TEXT];
  return [
    h("span", { class: "corner", "aria-hidden": "true" }, rank, h("span", {}, sign)),
    h("span", { class: "middle", "aria-hidden": "true" }, sign),
  ];
}

function empty() {
  return h("span", { class: "card-face none", "aria-hidden": "true" });
}

function suit(name) {
  return h(
    "span",
    { class: ["suit", "DH".includes(name) && "red"] },
    `${SUITS[name]}${TEXT} ${SUIT_WORDS[name]}`,
  );
}

function red(card) {
  return card[1] === "D" || card[1] === "H";
}

function order(card) {
  return "CDSH".indexOf(card[1]) * 13 + "23456789TJQKA".indexOf(card[0]);
}

function cardSign(card) {
  return card
    ? `${card[0] === "T" ? "10" : card[0]}${SUITS[card[1]]}${TEXT}`
    : "a card";
}

function cardName(card) {
  return `${RANK_WORDS[card[0]] ?? card[0]} of ${SUIT_WORDS[card[1]]}`;
}
