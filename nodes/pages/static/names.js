// What the seats of a match are called.

import { recallShared, share } from "./memory.js";

/** Matches whose names a browser keeps. */
const KEPT_MAX = 50;

/** Keep the players' names of a match, as its lobby knew them.
 * @param {string} match @param {Record<string, string>} names by seat */
export function keepNames(match, names) {
  const others = kept().filter(([each]) => each !== match);
  share("names", [...others, [match, names]].slice(-KEPT_MAX));
}

/** @returns {[string, Record<string, string>][]} the newest last */
function kept() {
  const found = recallShared("names");
  return Array.isArray(found) ? found : [];
}

export class Names {
  /** @param {string} match @param {string} me the own seat, or "" */
  constructor(match, me) {
    this._known = /** @type {Record<string, string>} */ (
      kept().find(([each]) => each === match)?.[1] ?? {}
    );
    this.me = me;
    this._order = /** @type {string[]} */ ([]);
    this._looks = /** @type {Record<string, string>} */ ({});
  }

  /** The seats in their order, which gives each its colour. @param {string[]} seats */
  inOrder(seats) {
    for (const seat of seats) if (!this._order.includes(seat)) this._order.push(seat);
  }

  /** Give seats the colours of their pieces. @param {Record<string, string>} looks */
  look(looks) {
    this._looks = looks;
  }

  /** The look of a seat's dot. @param {string} seat */
  dot(seat) {
    return `dot ${this._looks[seat] ?? `seat-${this.place(seat)}`}`;
  }

  get seats() {
    return this._order;
  }

  /** Which colour a seat has: 0, 1, ... @param {string} seat */
  place(seat) {
    return Math.max(0, this._order.indexOf(seat)) % 6;
  }

  /** @param {string} seat */
  of(seat) {
    const known = this._known[seat];
    if (known) return known;
    return /^\d+$/.test(seat) ? `Player ${Number(seat) + 1}` : capital(seat);
  }

  /** "You", or the name. @param {string} seat */
  orYou(seat) {
    return seat === this.me ? "You" : this.of(seat);
  }

  /** Several, in one phrase. @param {string[]} seats */
  list(seats) {
    return new Intl.ListFormat("en", { type: "conjunction" }).format(
      seats.map((seat) => this.of(seat)),
    );
  }
}

/** The seats that a view tells of: keys of what it says for each player.
 * @param {any} view @param {string[]} active */
export function seatsIn(view, active) {
  for (const name of PER_SEAT) {
    const found = view?.[name];
    if (found && typeof found === "object" && !Array.isArray(found))
      return Object.keys(found);
  }
  return [...active].sort();
}

const PER_SEAT = [
  "marks",
  "discs",
  "shots",
  "cards",
  "left",
  "scores",
  "purses",
  "count",
];

function capital(text) {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
