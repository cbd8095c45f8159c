// Which board is drawn: by the game's name, or by the shape of what is seen.

import { auction } from "./auction.js";
import { battleship } from "./battleship.js";
import { chess } from "./chess.js";
import { connectFour } from "./connect_four.js";
import { crazyEights } from "./crazy_eights.js";
import { form } from "./form.js";
import { liarsDice } from "./liars_dice.js";
import { pig } from "./pig.js";
import { reversi } from "./reversi.js";
import { rockPaperScissors } from "./rock_paper_scissors.js";
import { ticTacToe } from "./tic_tac_toe.js";

/**
 * What a board is drawn from.
 * @typedef {object} Scene
 * @property {any} view what the seat may see
 * @property {import("../match_state.js").Snapshot} snapshot
 * @property {import("../match_state.js").Step | null} step what led here
 * @property {string} seat one's own; "" of a spectator
 * @property {boolean} open whether one may act now
 * @property {import("../match_state.js").Pending | null} pending what was asked
 * @property {import("../names.js").Names} names
 * @property {Record<string, any>} memory the board's own, between drawings
 * @property {(event: string, payload?: any) => void} act
 * @property {() => void} redraw
 */
/**
 * @typedef {object} Board
 * @property {string} game
 * @property {(view: any) => boolean} fits whether it can show that view
 * @property {(scene: Scene) => any} draw
 * @property {(step: import("../match_state.js").Step, names: import("../names.js").Names)
 *   => string} tell what an action was, in words
 * @property {Record<string, string>} [reasons] of the game's refusals, in words
 * @property {(view: any) => Record<string, string>} [looks] of the seats' pieces
 */

/** @type {Board[]} */
const BOARDS = [
  ticTacToe,
  connectFour,
  reversi,
  chess,
  battleship,
  crazyEights,
  liarsDice,
  pig,
  rockPaperScissors,
  auction,
];

/** @param {string} game "" if it was not told @param {any} view @returns {Board} */
export function boardFor(game, view) {
  const named = BOARDS.find((board) => board.game === game);
  if (game && !named) return form;
  const found = named ?? BOARDS.find((board) => fits(board, view));
  return found && fits(found, view) ? found : form;
}

function fits(board, view) {
  return typeof view === "object" && view !== null && board.fits(view);
}
