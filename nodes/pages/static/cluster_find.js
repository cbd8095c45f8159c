// Matches found by what they are, as `hotseat match list` finds them.

import { h, redraw } from "./dom.js";
import { ApiError } from "./api.js";
import { ask } from "./operator_session.js";
import { matchesTable } from "./cluster_panels.js";

const PAGE = 50;
const STATES = ["running", "waiting", "ended", "quarantined"];
const SORTS = {
  shard: "by shard",
  idle: "longest idle first",
  records: "longest first",
};

export class Finder {
  constructor() {
    this._found = h("div", { "aria-live": "polite" });
    this._rows = [];
    this._form = h(
      "form",
      { class: "finder", onsubmit: (event) => this._begin(event) },
      field(
        "Game",
        h("input", { name: "game", spellcheck: "false", autocomplete: "off" }),
      ),
      field(
        "Seat to act",
        h("input", { name: "seat", spellcheck: "false", autocomplete: "off" }),
      ),
      field(
        "State",
        h(
          "select",
          { name: "state" },
          h("option", { value: "" }, "not over"),
          STATES.map((state) => h("option", { value: state }, state)),
        ),
      ),
      field(
        "Idle for minutes",
        h("input", { name: "idle", inputmode: "numeric", pattern: "[0-9]{1,6}" }),
      ),
      field(
        "Shard",
        h("input", { name: "shard", inputmode: "numeric", pattern: "[0-9]{1,12}" }),
      ),
      field(
        "Order",
        h(
          "select",
          { name: "sort" },
          Object.entries(SORTS).map(([value, name]) => h("option", { value }, name)),
        ),
      ),
      h("button", { class: "primary" }, "Find"),
    );
    this.element = h("div", { class: "stack" }, this._form, this._found);
  }

  _begin(event) {
    event.preventDefault();
    this._rows = [];
    this._asked = new URLSearchParams({ limit: String(PAGE) });
    const given = new FormData(this._form);
    for (const name of ["game", "seat", "state", "shard", "sort"]) {
      const text = String(given.get(name) ?? "").trim();
      if (text) this._asked.set(name, text);
    }
    const minutes = Number(given.get("idle") || 0);
    if (minutes) this._asked.set("idleMs", String(minutes * 60_000));
    return this._next();
  }

  async _next() {
    try {
      const { said } = await ask(`/api/cluster/matches?${this._asked}`);
      this._rows = [...this._rows, ...said.matches];
      const last = said.matches.at(-1);
      const paged = said.more && last && this._asked.get("sort") === "shard";
      if (paged) this._asked.set("after", `${last.shard}/${last.match}`);
      redraw(
        this._found,
        matchesTable(this._rows, said.silent),
        paged &&
          h(
            "button",
            { type: "button", "data-key": "more", onclick: () => this._next() },
            "More",
          ),
        said.more &&
          !paged &&
          h("p", { class: "muted small" }, `The first ${this._rows.length} of them.`),
      );
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      redraw(
        this._found,
        h(
          "p",
          { class: "banner bad" },
          h("span", {}, error.message),
          h("code", { class: "small" }, error.code),
        ),
      );
    }
  }
}

function field(name, control) {
  return h("label", { class: "field" }, h("span", {}, name), control);
}
