// Connect four: columns to drop a disc into.

import { h } from "../dom.js";
import { isLegal } from "../match_state.js";
import { grid } from "./grid.js";

const ROWS = 6;
const PACES = [
  [1, 0],
  [0, 1],
  [1, 1],
  [1, -1],
];

/** @type {import("./boards.js").Board} */
export const connectFour = {
  game: "connect-four",
  fits: (view) => Array.isArray(view.columns) && view.columns.length === 7,

  draw(scene) {
    const { columns } = scene.view;
    const won = line(columns);
    const asked = scene.pending?.event === "drop" ? scene.pending.payload.column : -1;
    const cell = (_, column) => {
      const discs = columns[column];
      const free = scene.open && isLegal(scene.snapshot, "drop", { column }) !== false;
      const last = scene.step?.event.payload?.column === column;
      return {
        key: String(column),
        label: described(scene, column, discs),
        content: Array.from({ length: ROWS }, (_, n) => {
          const row = ROWS - 1 - n;
          const owner =
            discs[row] ??
            (column === asked && row === discs.length ? scene.seat : null);
          return h("span", {
            class: [
              "hole",
              owner !== null && `disc seat-${scene.names.place(owner)}`,
              row === discs.length && free && "next",
              row === discs.length && column === asked && "asked",
              last && row === discs.length - 1 && "last",
              won.has(`${column},${row}`) && "won",
            ],
          });
        }),
        classes: [`mine-${scene.names.place(scene.seat)}`],
        choose:
          free && discs.length < ROWS ? () => scene.act("drop", { column }) : null,
      };
    };
    return grid({
      name: "board",
      label: "Connect four, seven columns",
      rows: 1,
      columns: 7,
      cell,
      memory: scene.memory,
      class: "connect-four",
    });
  },

  tell: ({ event }) =>
    event.payload ? `drops into column ${event.payload.column + 1}` : "drops a disc",
  reasons: { column_full: "That column is full." },
};

function described(scene, column, discs) {
  const top = discs.at(-1);
  const full = discs.length === ROWS ? ", full" : "";
  const above =
    top === undefined ? "empty" : `${discs.length} high, ${scene.names.of(top)} on top`;
  return `Column ${column + 1}: ${above}${full}`;
}

/** The discs of four in a line, as "column,row". */
function line(columns) {
  const won = new Set();
  columns.forEach((discs, x) =>
    discs.forEach((owner, y) => {
      for (const [dx, dy] of PACES) {
        const four = [0, 1, 2, 3].map((n) => [x + dx * n, y + dy * n]);
        if (four.every(([a, b]) => columns[a]?.[b] === owner)) {
          for (const place of four) won.add(place.join());
        }
      }
    }),
  );
  return won;
}
