// The list of revisions. Only those in sight are elements: a match may have thousands.

import { h } from "./dom.js";
import { eventName } from "./graph_layout.js";

const ROW_PX = 32;
const AROUND = 8; // rows beyond the edge that are elements already

const KINDS = new Set(["takeback", "edit", "upgrade", "terminate"]);

/** What a revision's line says happened. @param {any} row */
export function rowEvent(row) {
  if (row.kind === "initial") return "(created)";
  if (row.kind === "timeout") return "(timeout)";
  if (KINDS.has(row.kind)) return `(${row.kind})`;
  return row.kind === "internal" ? `+ ${eventName(row.event)}` : eventName(row.event);
}

export class StepList {
  /**
   * @param {HTMLElement} place a scrolling listbox
   * @param {(revision: number) => void} choose
   * @param {(first: number, last: number) => void} want lines that are not known
   */
  constructor(place, choose, want) {
    this._place = place;
    this._choose = choose;
    this._want = want;
    this._rows = [];
    this._head = 0;
    this._selected = -1;
    this._body = h("div", { class: "rows", role: "presentation" });
    place.replaceChildren(this._body);
    place.addEventListener("scroll", () => this._draw(), { passive: true });
    new ResizeObserver(() => this._draw()).observe(place);
  }

  /** @param {any[]} rows by revision, with holes @param {number} head @param {number} selected */
  show(rows, head, selected) {
    const moved = selected !== this._selected || head !== this._head;
    [this._rows, this._head, this._selected] = [rows, head, selected];
    this._body.style.height = `${(head + 1) * ROW_PX}px`;
    if (moved) this._reveal(selected);
    this._draw();
  }

  _reveal(revision) {
    const place = this._place;
    const [top, bottom] = [revision * ROW_PX, (revision + 1) * ROW_PX];
    if (top < place.scrollTop) place.scrollTop = Math.max(0, top - ROW_PX);
    else if (bottom > place.scrollTop + place.clientHeight) {
      place.scrollTop = bottom + ROW_PX - place.clientHeight;
    }
  }

  _draw() {
    const place = this._place;
    const first = Math.max(0, Math.floor(place.scrollTop / ROW_PX) - AROUND);
    const seen = Math.ceil(place.clientHeight / ROW_PX) + 2 * AROUND;
    const last = Math.min(this._head, first + seen);
    const rows = [];
    let missing = false;
    for (let revision = first; revision <= last; revision++) {
      missing ||= this._rows[revision] === undefined;
      rows.push(this._row(revision));
    }
    this._body.replaceChildren(...rows);
    place.setAttribute("aria-activedescendant", `step-${this._selected}`);
    if (missing) this._want(first, last);
  }

  _row(revision) {
    const row = this._rows[revision];
    const selected = revision === this._selected;
    const before = this._rows[revision - 1];
    const turns = row && before && row.turn !== before.turn;
    return h(
      "div",
      {
        id: `step-${revision}`,
        role: "option",
        class: [
          "step",
          selected && "selected",
          turns && "turns",
          row && `is-${row.kind}`,
        ],
        "aria-selected": String(selected),
        "aria-posinset": revision + 1,
        "aria-setsize": this._head + 1,
        style: { top: `${revision * ROW_PX}px` },
        onclick: () => this._choose(revision),
      },
      h("span", { class: "number revision" }, revision),
      row
        ? [
            h("span", { class: "event" }, rowEvent(row)),
            row.seat !== null &&
              h(
                "span",
                { class: "chip seat" },
                h("span", { class: "unseen" }, "seat "),
                row.seat,
              ),
            h("span", { class: "where" }, row.state),
          ]
        : h("span", { class: "muted" }, "…"),
    );
  }
}
