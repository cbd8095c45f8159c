// What a player has to know beside the board: the link, a refusal, a request. They are
// drawn often, and read out by the page's voice, once.

import { h } from "./dom.js";

/**
 * @param {import("./connection.js").Link} link @param {string | undefined} why
 * @param {() => void} playHere
 */
export function linkBanner(link, why, playHere) {
  if (link === "stale") {
    return h(
      "div",
      { class: "banner warn" },
      h("span", { class: "dot warn pulse" }),
      "Reconnecting. The board may be out of date.",
    );
  }
  if (link === "replaced") {
    return h(
      "div",
      { class: "banner warn" },
      h("span", {}, "This seat is being played in another window."),
      h(
        "button",
        { class: "primary compact", "data-key": "here", onclick: playHere },
        "Play here",
      ),
    );
  }
  if (link === "refused") {
    return h(
      "div",
      { class: "banner bad" },
      `The connection ended (${why}). Load the page again, or ask for a new link.`,
    );
  }
  return null;
}

/** @param {import("./connection.js").Link} link @param {number | null} roundTripMs */
export function linkChip(link, roundTripMs) {
  const [look, text] = LINKS[link] ?? LINKS.closed;
  return h(
    "span",
    {
      class: `chip ${look}`,
      title: roundTripMs === null ? null : `Round trip: ${roundTripMs} ms`,
    },
    h("span", { class: `dot ${look}` }),
    text,
  );
}

const LINKS = {
  connecting: ["warn", "Connecting"],
  current: ["good", "Connected"],
  stale: ["warn", "Reconnecting"],
  replaced: ["bad", "Elsewhere"],
  refused: ["bad", "Ended"],
  closed: ["", "Closed"],
};

/** @param {string} text @param {() => void} dismiss */
export function refusalBanner(text, dismiss) {
  if (!text) return null;
  return h(
    "div",
    { class: "banner bad refusal" },
    h("span", {}, text),
    h(
      "button",
      { class: "quiet compact", "data-key": "dismiss", onclick: dismiss },
      "All right",
    ),
  );
}

/**
 * @param {import("./match_state.js").Snapshot | null} snapshot
 * @param {import("./names.js").Names} names
 * @param {(verb: "agree" | "decline") => void} answer
 */
export function undoBanner(snapshot, names, answer) {
  const asked = snapshot?.undo;
  if (!asked) return null;
  const mine = asked.playerID === names.me;
  const agreed = asked.agreed.includes(names.me);
  const text = undoText(asked, names);
  return h(
    "div",
    { class: "banner" },
    h("span", {}, text, agreed && " You agreed."),
    !!names.me &&
      !agreed &&
      h(
        "span",
        { class: "row" },
        !mine &&
          h(
            "button",
            {
              class: "primary compact",
              "data-key": "agree",
              onclick: () => answer("agree"),
            },
            "Agree",
          ),
        h(
          "button",
          { class: "compact", "data-key": "decline", onclick: () => answer("decline") },
          mine ? "Withdraw" : "Decline",
        ),
      ),
  );
}

/** A request to take back, in words. */
export function undoText(asked, names) {
  if (asked.playerID === names.me) return "You asked to take back your move.";
  return `${names.of(asked.playerID)} asks to take back to step ${asked.to}.`;
}
