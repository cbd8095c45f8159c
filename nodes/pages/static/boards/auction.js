// A sealed-bid auction: the lots, the purses, and a bid that nobody sees.

import { h } from "../dom.js";
import { payloadsOf } from "../match_state.js";
import { choice } from "./choice.js";

/** @type {import("./boards.js").Board} */
export const auction = {
  game: "sealed-auction",
  fits: (view) => !!view.purses && Array.isArray(view.lots),

  draw(scene) {
    const { view, names } = scene;
    const now = view.sold.length;
    return [
      h(
        "ol",
        { class: "lots" },
        view.lots.map((value, n) => {
          const sale = view.sold[n];
          const state = sale
            ? sale.buyer === null
              ? "nobody’s"
              : names.orYou(sale.buyer)
            : n === now
              ? "on sale"
              : "to come";
          return h(
            "li",
            {
              class: ["lot", n === now && "now", sale && "sold"],
              "aria-current": n === now ? "true" : null,
            },
            h("span", { class: "small" }, `Lot ${n + 1}`),
            h("strong", { class: "number" }, value),
            h("span", { class: "small" }, state),
          );
        }),
      ),
      view.waitingFor.includes(scene.seat) ? bids(scene) : waiting(scene),
      h(
        "div",
        { class: "scroll", tabindex: 0, role: "region", "aria-label": "Bids" },
        ledger(view, names),
      ),
    ];
  },

  tell({ event, snapshot }) {
    const amount = event.payload?.amount;
    return amount === undefined
      ? "bids in secret"
      : `bids ${amount} of ${snapshot.G.purses[event.playerID ?? ""]}`;
  },
  reasons: { more_than_you_have: "You do not have so much." },
};

function bids(scene) {
  const amounts = payloadsOf(scene.snapshot, "bid");
  return h(
    "div",
    { class: "stack tight" },
    h("p", { class: "prompt" }, "Your bid for this lot:"),
    h(
      "div",
      { class: "amounts", role: "group", "aria-label": "Your bid" },
      amounts.map((payload) =>
        choice(
          scene,
          "bid",
          payload,
          payload.amount,
          "amount number",
          `Bid ${payload.amount}`,
        ),
      ),
    ),
  );
}

/** What everybody has, and what they bid. */
function ledger(view, names) {
  const seats = Object.keys(view.purses);
  return h(
    "table",
    { class: "rounds" },
    h(
      "thead",
      {},
      h(
        "tr",
        {},
        h("th", { scope: "col" }, "Bidder"),
        h("th", { scope: "col" }, "Money"),
        h("th", { scope: "col" }, "Value"),
        view.sold.map((_, n) => h("th", { scope: "col" }, `Lot ${n + 1}`)),
      ),
    ),
    h(
      "tbody",
      {},
      seats.map((seat) =>
        h(
          "tr",
          {},
          h(
            "th",
            { scope: "row" },
            h("span", { class: names.dot(seat) }),
            ` ${names.orYou(seat)}`,
          ),
          h("td", { class: "number" }, view.purses[seat]),
          h("td", { class: "number" }, view.values[seat]),
          view.sold.map(({ bids, buyer }) =>
            h("td", { class: ["number", buyer === seat && "won"] }, bids[seat]),
          ),
        ),
      ),
    ),
  );
}

function waiting(scene) {
  const { view, names } = scene;
  if (!view.waitingFor.length) return null;
  const mine =
    view.myBid === null || view.myBid === undefined
      ? ""
      : `Your bid is ${view.myBid}. `;
  return h(
    "p",
    { class: "prompt" },
    `${mine}Waiting for ${names.list(view.waitingFor)}.`,
  );
}
