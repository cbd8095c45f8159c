// A grid of cells to choose from: one stop for the Tab key, arrows inside.

import { h } from "../dom.js";

/**
 * @typedef {object} Cell
 * @property {string} key its name in the grid
 * @property {string} label what is read out
 * @property {any} [content]
 * @property {(string | false | null | undefined)[]} [classes]
 * @property {(() => void) | null} [choose] null: there is nothing to choose
 * @property {boolean} [pressed] of a cell that was picked up
 * @property {() => void} [onpoint] a pointer or the focus came to it
 */
/**
 * @param {object} asked
 * @param {string} asked.name of the grid in its board
 * @param {string} asked.label
 * @param {number} asked.rows
 * @param {number} asked.columns
 * @param {(row: number, column: number) => Cell} asked.cell
 * @param {Record<string, any>} asked.memory where the keyboard stands, between drawings
 * @param {string} [asked.class]
 */
export function grid({ name, label, rows, columns, cell, memory, class: look = "" }) {
  const cells = Array.from({ length: rows }, (_, row) =>
    Array.from({ length: columns }, (_, column) => cell(row, column)),
  );
  const flat = cells.flat();
  const stand = `${name}/stand`;
  const home =
    flat.find((one) => one.key === memory[stand]) ?? flat.find((one) => one.choose);
  memory[stand] = (home ?? flat[0])?.key;
  const element = h(
    "div",
    {
      class: `grid ${look}`,
      role: "grid",
      "aria-label": label,
      style: { "--rows": rows, "--columns": columns },
      onkeydown: (event) => move(event, element, columns),
      onfocusin: ({ target }) => stands(element, target, memory, stand),
    },
    cells.map((line) =>
      h(
        "div",
        { role: "row", class: "grid-row" },
        line.map((one) => button(name, one, memory[stand])),
      ),
    ),
  );
  return element;
}

function button(within, cell, stand) {
  return h(
    "button",
    {
      type: "button",
      role: "gridcell",
      class: ["cell", cell.choose && "choosable", ...(cell.classes ?? [])],
      "data-key": `${within}/${cell.key}`,
      "data-cell": cell.key,
      "aria-label": cell.label,
      "aria-disabled": cell.choose ? null : "true",
      "aria-selected": cell.pressed ? "true" : null,
      tabindex: cell.key === stand ? "0" : "-1",
      onclick: cell.choose,
      onpointerenter: cell.onpoint,
      onfocus: cell.onpoint,
    },
    cell.content,
  );
}

/** By key: the pace in columns and rows. */
const PACES = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, -1],
  ArrowDown: [0, 1],
  Home: [-Infinity, 0],
  End: [Infinity, 0],
};

function move(event, element, columns) {
  const pace = PACES[event.key];
  const cells = [...element.querySelectorAll("[data-cell]")];
  const at = cells.indexOf(document.activeElement);
  if (!pace || at < 0 || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  const within = (value, count) => Math.min(count - 1, Math.max(0, value));
  const column = within((at % columns) + pace[0], columns);
  const row = within(Math.floor(at / columns) + pace[1], cells.length / columns);
  cells[row * columns + column].focus();
}

function stands(element, target, memory, stand) {
  const cell = target.closest("[data-cell]");
  if (!cell) return;
  for (const other of element.querySelectorAll('[tabindex="0"]')) other.tabIndex = -1;
  cell.tabIndex = 0;
  memory[stand] = cell.dataset.cell;
}
