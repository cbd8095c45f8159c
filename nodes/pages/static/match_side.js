// Beside the board: who plays, what may be asked, and what to do after the end.

import { copyButton } from "./copy.js";
import { h } from "./dom.js";
import { recall } from "./memory.js";
import { mood, outcome } from "./outcome.js";

/**
 * @param {import("./match_state.js").Snapshot} snapshot the one that is looked at
 * @param {any} page the match's
 */
export function matchSide(snapshot, page) {
  const { names, state } = page;
  const invite = recall(`invite/${page.connection.match}`);
  const moving = snapshot.result === null ? snapshot.derived.activePlayers : [];
  return h(
    "section",
    { class: "card stack" },
    h("h2", {}, page.gameName()),
    h(
      "ul",
      { class: "seats" },
      names.seats.map((seat) => seatLine(seat, snapshot, names, moving.includes(seat))),
    ),
    !names.me &&
      h("p", { class: "muted small" }, "You are watching: you see what all may see."),
    invite && !state.ended && copyButton(invite, "Copy a link to watch"),
    state.ended ? ending(page) : mayAskUndo(state, names) && undoButton(page),
  );
}

function seatLine(seat, snapshot, names, moves) {
  return h(
    "li",
    { class: ["seat", moves && "moving"] },
    h("span", { class: names.dot(seat) }),
    h("span", { class: "name" }, names.of(seat)),
    seat === names.me && h("span", { class: "chip" }, "you"),
    moves && h("span", { class: "chip warn" }, "to move"),
    snapshot.result?.winner === seat && h("span", { class: "chip good" }, "winner"),
  );
}

function ending(page) {
  const { result } = page.state.newest;
  return h(
    "div",
    { class: ["ending", "stack", mood(result, page.names.me)] },
    h("strong", {}, outcome(result, page.names)),
    h(
      "div",
      { class: "row" },
      h(
        "button",
        {
          class: "primary compact",
          "data-key": "watch",
          onclick: () => page.watchReplay(),
        },
        "Watch the replay",
      ),
      h("a", { class: "button compact", href: "/" }, "A new match"),
    ),
  );
}

/** Whether the game lets this seat ask to take something back now. */
function mayAskUndo(state, names) {
  if (!state.undo || !names.me || state.newest.undo) return false;
  return state.frames.some(({ step }) => step?.event.playerID === names.me);
}

function undoButton(page) {
  return h(
    "button",
    {
      class: "compact",
      "data-key": "undo",
      disabled: page.link !== "current" || page.state.pending !== null,
      onclick: () => page.undo("ask"),
    },
    "Ask to take back",
  );
}
