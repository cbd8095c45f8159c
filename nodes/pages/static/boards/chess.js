// Chess: pick a piece up, put it down.

import { h } from "../dom.js";
import { isLegal, payloadsOf } from "../match_state.js";
import { checkedKing } from "./chess_check.js";
import { choice } from "./choice.js";
import { grid } from "./grid.js";

const FILES = "abcdefgh";
const PIECES = { k: "♚", q: "♛", r: "♜", b: "♝", n: "♞", p: "♟" };
const WORDS = { k: "king", q: "queen", r: "rook", b: "bishop", n: "knight", p: "pawn" };
const TEXT = "\ufe0e"; // these signs as text, not as pictures

/** @type {import("./boards.js").Board} */
export const chess = {
  game: "chess",
  fits: (view) => typeof view.fen === "string",

  draw(scene) {
    const { view, memory, snapshot } = scene;
    const squares = squaresOf(view.fen);
    const whiteMoves = view.fen.split(" ")[1] === "w";
    const moves = scene.open ? payloadsOf(snapshot, "move").map(({ uci }) => uci) : [];
    const asked = scene.pending?.event === "move" ? scene.pending.payload.uci : "";
    if (!moves.some((uci) => uci.startsWith(memory.picked))) memory.picked = undefined;
    const picked = memory.picked;
    const checked = checkedKing(squares, whiteMoves);
    const flipped = memory.flipped ?? scene.seat === "black";
    const cell = (row, column) => {
      const square =
        FILES[flipped ? 7 - column : column] + (flipped ? row + 1 : 8 - row);
      const piece = squares[square];
      const target = picked && moves.some((uci) => uci.startsWith(picked + square));
      const movable = moves.some((uci) => uci.startsWith(square));
      return {
        key: square,
        label: described(square, piece, target),
        content: [
          column === 0 && h("span", { class: "rank" }, square[1]),
          row === 7 && h("span", { class: "file" }, square[0]),
          piece && drawing(piece),
        ],
        classes: [
          (row + column) % 2 ? "dark" : "light",
          square === picked && "picked",
          target && (piece ? "capture" : "target"),
          (view.lastMove ?? "").slice(0, 4).includes(square) && "last",
          asked.slice(0, 4).includes(square) && "asked",
          square === checked && "checked",
        ],
        pressed: square === picked,
        choose: target
          ? () => put(scene, picked, square, moves)
          : movable
            ? () => pick(scene, square === picked ? undefined : square)
            : null,
      };
    };
    return [
      grid({
        name: "board",
        label: `Chess board${flipped ? ", seen by black" : ""}`,
        rows: 8,
        columns: 8,
        cell,
        memory,
        class: "chess",
      }),
      h(
        "div",
        { class: "choices" },
        memory.promoting && scene.open && promotion(scene),
        isLegal(snapshot, "claim_draw", null) === true &&
          choice(scene, "claim_draw", null, "Claim a draw"),
        h(
          "button",
          {
            class: "compact quiet",
            "data-key": "flip",
            onclick: () => turn(scene, !flipped),
          },
          "Turn the board",
        ),
      ),
    ];
  },

  looks: () => ({ white: "of-white", black: "of-black" }),

  tell({ event }) {
    if (event.event === "claim_draw") return "claims a draw";
    const uci = event.payload?.uci ?? "";
    const made = uci[4] ? ` and becomes a ${WORDS[uci[4]]}` : "";
    return `${uci.slice(0, 2)} – ${uci.slice(2, 4)}${made}`;
  },
  reasons: {
    illegal_move: "That piece cannot go there.",
    leaves_the_king_in_check: "That would leave the king in check.",
    nothing_to_claim: "There is no draw to claim.",
  },
};

function pick(scene, square) {
  scene.memory.picked = square;
  scene.memory.promoting = undefined;
  scene.redraw();
}

function put(scene, from, to, moves) {
  const made = moves.filter((uci) => uci.startsWith(from + to));
  if (made.length > 1) {
    scene.memory.promoting = from + to;
    scene.redraw();
    return;
  }
  scene.memory.picked = undefined;
  scene.act("move", { uci: made[0] });
}

function turn(scene, flipped) {
  scene.memory.flipped = flipped;
  scene.redraw();
}

/** What a pawn becomes. */
function promotion(scene) {
  const move = scene.memory.promoting;
  return h(
    "div",
    { class: "row promotion", role: "group", "aria-label": "The pawn becomes" },
    ["q", "r", "b", "n"].map((piece) =>
      h(
        "button",
        {
          "data-key": `promote/${piece}`,
          "aria-label": `A ${WORDS[piece]}`,
          onclick: () => {
            scene.memory.promoting = scene.memory.picked = undefined;
            scene.act("move", { uci: move + piece });
          },
        },
        drawing(scene.seat === "black" ? piece : piece.toUpperCase()),
      ),
    ),
  );
}

function drawing(piece) {
  const kind = piece.toLowerCase();
  const look = ["piece", piece === kind ? "black" : "white"];
  return h("span", { class: look, "aria-hidden": "true" }, PIECES[kind] + TEXT);
}

/** By square: the piece, large letters are white. @param {string} fen */
function squaresOf(fen) {
  /** @type {Record<string, string>} */
  const squares = {};
  fen
    .split(" ")[0]
    .split("/")
    .forEach((rank, n) => {
      let file = 0;
      for (const sign of rank) {
        if (/\d/.test(sign)) file += Number(sign);
        else squares[FILES[file++] + (8 - n)] = sign;
      }
    });
  return squares;
}

function described(square, piece, target) {
  const colour = piece && piece === piece.toUpperCase() ? "white" : "black";
  const what = piece ? `${colour} ${WORDS[piece.toLowerCase()]}` : "empty";
  return `${square}, ${what}${target ? ", you may go there" : ""}`;
}
