// Pages that say what is wrong, and where to go from here.

import { h, redraw } from "./dom.js";

/** By code: what is said, and whether trying again may help. */
const TROUBLES = {
  token_missing: [
    "This link is not complete",
    "Ask whoever sent it for the whole link.",
  ],
  token_malformed: [
    "This link is not complete",
    "Ask whoever sent it for the whole link.",
  ],
  token_invalid: [
    "This link is not accepted",
    "It was changed, or is not from here. Ask for a new one.",
  ],
  token_unknown_key: ["This link is no longer accepted", "Ask for a new one."],
  token_expired: ["This link has expired", "Ask whoever sent it for a new one."],
  token_not_yet: [
    "This link is not valid yet",
    "Perhaps a clock is wrong. Try again in a minute.",
  ],
  token_wrong_match: [
    "This link leads elsewhere",
    "Ask whoever sent it for another one.",
  ],
  token_wrong_scope: [
    "This link does not allow that",
    "Ask whoever sent it for another one.",
  ],
  unknown_match: ["There is no such match", "Perhaps it ended long ago."],
  match_lost: [
    "This match is lost",
    "Every copy of it is gone. Its players may open another one.",
  ],
  quarantined: [
    "This match was set apart",
    "Something is wrong with it, and an operator has to look.",
  ],
  seat_taken: [
    "Somebody else sits there",
    "Ask whoever opened the match for a seat of your own.",
  ],
  rate_limited: ["Too many tries", "Wait a minute, then try again."],
  closed: ["This table is closed", "Its host has closed it, or has left."],
  unreachable: [
    "Nobody answers",
    "The server cannot be reached. Try again in a moment.",
  ],
};

/**
 * @param {HTMLElement} main
 * @param {string} code
 * @param {string} [message] said if the code is not known here
 * @param {() => void} [again]
 */
export function showTrouble(main, code, message, again) {
  const [title, text] = TROUBLES[code] ?? [
    "That did not work",
    message ?? "Try again.",
  ];
  document.title = `${title} · hotseat`;
  redraw(
    main,
    h(
      "section",
      { class: "trouble card stack", role: "alert" },
      h("h1", {}, title),
      h("p", {}, text),
      h(
        "div",
        { class: "row" },
        again && h("button", { class: "primary", onclick: again }, "Try again"),
        h(
          "a",
          { class: again ? "button" : "button primary", href: "/" },
          "Open a new match",
        ),
      ),
      h("p", { class: "muted small" }, "Code: ", h("code", {}, code)),
    ),
  );
}
