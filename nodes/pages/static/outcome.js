// Whose turn it is, and how it ended, in words.

import { canonical, mayAct } from "./match_state.js";

/**
 * @param {import("./match_state.js").Snapshot} snapshot
 * @param {import("./names.js").Names} names
 */
export function standing(snapshot, names) {
  if (snapshot.result !== null) return outcome(snapshot.result, names);
  const active = snapshot.derived.activePlayers;
  if (mayAct(snapshot, names.me)) return "Your turn";
  if (!active.length) return "Nobody’s turn";
  if (active.length === 1) return `${names.of(active[0])}’s turn`;
  return `Waiting for ${names.list(active)}`;
}

/** @param {any} result @param {import("./names.js").Names} names */
export function outcome(result, names) {
  if (result?.draw) return "A draw";
  const why = result?.terminated?.why;
  if (typeof why === "string") return `An operator ended the match: ${why}`;
  const winner = result?.winner;
  if (typeof winner === "string")
    return winner === names.me ? "You won" : `${names.of(winner)} won`;
  const winners = result?.winners;
  if (Array.isArray(winners) && winners.length) return `${names.list(winners)} won`;
  return typeof result === "object"
    ? "The match is over"
    : `The match is over: ${canonical(result)}`;
}

/** How a result feels to a seat: a win is good, anything else is as it is. */
export function mood(result, me) {
  return me && result?.winner === me ? "good" : "";
}

/**
 * What a step was, in words: who, and what they did.
 * @param {import("./match_state.js").Step} step
 * @param {import("./boards/boards.js").Board} board
 * @param {import("./names.js").Names} names
 * @returns {{who: string, what: string}}
 */
export function told(step, board, names) {
  const { event } = step;
  if (event.event === "__timeout") return { who: "", what: "time ran out" };
  if (event.playerID === null) return { who: "", what: event.event.replace(/^_+/, "") };
  return { who: names.of(event.playerID), what: board.tell(step, names) };
}

/** The game's name as a title. @param {string} game */
export function gameTitle(game) {
  if (TITLES[game]) return TITLES[game];
  const words = game.replaceAll(/[-_]/g, " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** Where the words alone would not do. */
const TITLES = {
  "liars-dice": "Liar’s dice",
  "pig-dice": "Pig",
  "rock-paper-scissors": "Rock, paper, scissors",
  "sealed-auction": "Sealed-bid auction",
  "tic-tac-toe": "Tic-tac-toe",
};
