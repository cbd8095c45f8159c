// Tic-tac-toe.

import { s } from "../dom.js";
import { isLegal } from "../match_state.js";
import { grid } from "./grid.js";

const LINES = ["012", "345", "678", "036", "147", "258", "048", "246"];

/** @type {import("./boards.js").Board} */
export const ticTacToe = {
  game: "tic-tac-toe",
  fits: (view) => Array.isArray(view.board) && view.board.length === 9 && !!view.marks,

  draw(scene) {
    const { board, marks } = scene.view;
    const won = LINES.find(
      ([a, b, c]) => board[a] && board[a] === board[b] && board[a] === board[c],
    );
    const asked = scene.pending?.event === "place" ? scene.pending.payload.cell : -1;
    const cell = (row, column) => {
      const at = row * 3 + column;
      const mark = board[at] ?? (at === asked ? marks[scene.seat] : null);
      const free =
        scene.open &&
        isLegal(scene.snapshot, "place", { cell: at }) !== false &&
        !board[at];
      return {
        key: String(at),
        label: `${placeName(at)}: ${mark ?? "free"}`,
        content: mark && drawing(mark),
        classes: [
          mark === "X" ? "seat-0" : "seat-1",
          at === asked && "asked",
          won?.includes(String(at)) && "won",
          scene.step?.event.payload?.cell === at && "last",
        ],
        choose: free ? () => scene.act("place", { cell: at }) : null,
      };
    };
    return grid({
      name: "board",
      label: "Tic-tac-toe board",
      rows: 3,
      columns: 3,
      cell,
      memory: scene.memory,
      class: "tic-tac-toe",
    });
  },

  tell: ({ event }) =>
    event.payload ? `marks ${placeName(event.payload.cell).toLowerCase()}` : "marks",
  reasons: { cell_taken: "That cell is taken." },
};

function drawing(mark) {
  const look = { viewBox: "0 0 40 40", "aria-hidden": "true" };
  if (mark === "X") return s("svg", look, s("path", { d: "M10 10 30 30M30 10 10 30" }));
  return s("svg", look, s("circle", { cx: 20, cy: 20, r: 11 }));
}

function placeName(cell) {
  if (cell === 4) return "Centre";
  const row = ["Top", "Middle", "Bottom"][Math.floor(cell / 3)];
  return `${row} ${["left", "centre", "right"][cell % 3]}`;
}
