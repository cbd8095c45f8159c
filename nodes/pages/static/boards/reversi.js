// Reversi.

import { h } from "../dom.js";
import { isLegal } from "../match_state.js";
import { choice } from "./choice.js";
import { grid } from "./grid.js";

const SIZE = 8;
const COLUMNS = "abcdefgh";

/** @type {import("./boards.js").Board} */
export const reversi = {
  game: "reversi",
  fits: (view) =>
    Array.isArray(view.board) && view.board.length === SIZE * SIZE && !!view.discs,

  draw(scene) {
    const { board, discs, count } = scene.view;
    const asked = scene.pending?.event === "place" ? scene.pending.payload.cell : -1;
    const cell = (row, column) => {
      const at = row * SIZE + column;
      const disc = board[at] ?? (at === asked ? discs[scene.seat] : null);
      const free =
        scene.open && isLegal(scene.snapshot, "place", { cell: at }) === true;
      return {
        key: String(at),
        label: `${placeName(at)}: ${disc ? COLOURS[disc] : free ? "free, you may play here" : "free"}`,
        content: [
          column === 0 && h("span", { class: "rank", "aria-hidden": "true" }, row + 1),
          row === SIZE - 1 &&
            h("span", { class: "file", "aria-hidden": "true" }, COLUMNS[column]),
          disc
            ? h("span", { class: ["stone", disc === "B" ? "black" : "white"] })
            : free && h("span", { class: "hint" }),
        ],
        classes: [
          at === asked && "asked",
          scene.step?.event.payload?.cell === at && "last",
        ],
        choose: free ? () => scene.act("place", { cell: at }) : null,
      };
    };
    return [
      h(
        "div",
        { class: "tally row" },
        Object.entries(discs).map(([seat, disc]) =>
          h(
            "span",
            { class: "row" },
            h("span", {
              class: ["stone small-stone", disc === "B" ? "black" : "white"],
            }),
            h("span", {}, `${scene.names.of(seat)} `),
            h("strong", { class: "number" }, count[seat]),
          ),
        ),
      ),
      grid({
        name: "board",
        label: "Reversi board",
        rows: SIZE,
        columns: SIZE,
        cell,
        memory: scene.memory,
        class: "reversi",
      }),
      scene.open &&
        isLegal(scene.snapshot, "pass", null) === true &&
        h(
          "div",
          { class: "choices" },
          choice(scene, "pass", null, "Pass: there is no move", "primary"),
        ),
    ];
  },

  looks: ({ discs }) =>
    Object.fromEntries(
      Object.entries(discs).map(([seat, disc]) => [seat, `of-${COLOURS[disc]}`]),
    ),

  tell({ event }) {
    if (event.event === "pass") return "passes";
    return event.payload ? `plays ${placeName(event.payload.cell)}` : "plays";
  },
  reasons: {
    cell_taken: "That cell is taken.",
    turns_no_disc: "A disc there would turn none.",
    you_can_move: "You have a move, and cannot pass.",
  },
};

const COLOURS = { B: "black", W: "white" };

function placeName(cell) {
  return `${COLUMNS[cell % SIZE]}${Math.floor(cell / SIZE) + 1}`;
}
