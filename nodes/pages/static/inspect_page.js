// The inspector's page as it is seen: its parts, and what stands in them.

import { h, redraw } from "./dom.js";
import { GraphView } from "./inspect_graph.js";
import { showKeys } from "./inspect_keys.js";
import { changesPanel, stepPanel } from "./inspect_panels.js";
import { ValueTree } from "./value_tree.js";

const STATUS = {
  live: ["live", "good"],
  ended: ["over", ""],
  quarantined: ["set apart", "bad"],
  away: ["asking again", "warn"],
  lost: ["lost", "bad"],
  file: ["file", ""],
};

const SET_APART = "The match is set apart and does not go on; its node’s log says why.";

const TABS = { step: "Step", graph: "Graph", state: "State", steps: "All steps" };

export class InspectorPage {
  /**
   * @param {HTMLElement} main
   * @param {import("./inspect_source.js").Source} source
   * @param {any} graph
   * @param {HTMLElement} transport
   * @param {{view: (value: string) => void, tab: () => void,
   *   openFile: (file: File) => void, close: () => void}} ways
   */
  constructor(main, source, graph, transport, ways) {
    this._ways = ways;
    this._status = h("span", { class: "chip" });
    this._banner = h("div", { role: "alert" });
    this._step = h("div", { class: "stack tight" });
    this._changes = h("div", {});
    this._state = h("div", {});
    this._stateTitle = h("h2", {}, "State");
    this._trees = {
      state: new ValueTree(),
      selectors: new ValueTree(),
      told: new ValueTree(),
    };
    this._opened = new Set();
    this._viewField = h("select", {
      id: "view-as",
      onchange: () => ways.view(this._viewField.value),
    });
    this._viewField.append(
      ...seatsOf(source).map(([value, name]) => h("option", { value }, name)),
    );
    /** The list of steps. @type {HTMLElement} */
    this.list = h("div", {
      class: "steps",
      role: "listbox",
      tabindex: "0",
      "aria-label": "Revisions",
    });
    const graphPlace = h("div", { class: "graph-place" });
    this._graph = new GraphView(graphPlace);
    this._graph.show(graph);
    this._panels = this._panelsWith(graphPlace);
    redraw(
      main,
      h(
        "div",
        { class: "inspector" },
        this._title(source),
        this._banner,
        this._tabs(),
        this._panels,
        transport,
      ),
    );
  }

  /** What is known of the match. @param {any} timeline @param {string} problem */
  showStatus(timeline, problem) {
    const [word, tone] = STATUS[timeline.status];
    this._status.className = `chip ${tone}`;
    const live = timeline.status === "live";
    redraw(this._status, live && h("span", { class: "dot good pulse" }), word);
    const { problem: why } = timeline;
    const text =
      problem ||
      (why ? `${why.message} (${why.code})` : "") ||
      (timeline.status === "quarantined" ? SET_APART : "");
    if (this._banner.textContent === text) return; // it is not to be read out again
    redraw(this._banner, text && h("p", { class: "banner warn" }, text));
  }

  /** As whom the match is seen: "all", "" or a seat. The name of it. */
  showView(value) {
    this._viewField.value = value;
    return this._viewField.selectedOptions[0]?.textContent ?? "";
  }

  /** @param {any} frame @param {string | null} seat whose view stands in it */
  showFrame(frame, seat) {
    const seen = seat === null ? null : frame.seen;
    redraw(this._step, stepPanel(frame));
    this._graph.draw(frame);
    const shown = seen ?? frame;
    const what = seen ? "The view" : "G";
    if (seen?.problem)
      redraw(this._changes, h("p", { class: "banner bad" }, seen.problem));
    else if (frame.kind === "initial")
      redraw(this._changes, h("p", { class: "muted" }, "Nothing came before it."));
    else redraw(this._changes, changesPanel(shown.diff, shown.diffMore, what));
    const name = seat === "" ? "a spectator" : `seat ${seat}`;
    this._stateTitle.textContent = seen ? `What ${name} sees` : "State";
    const paths = shown.diff.map((change) => change.path);
    const selectors = seen ? {} : (frame.selectors ?? {});
    redraw(
      this._state,
      this._trees.state.draw(seen ? seen.view : frame.G, seen ? "view" : "G", paths),
      Object.keys(selectors).length > 0 &&
        this._more("Selectors", this._trees.selectors.draw(selectors, "selectors")),
      seen?.step &&
        this._more("The step, as it is told", this._trees.told.draw(seen.step, "step")),
    );
  }

  /** @param {number} revision @param {string} problem */
  showNoFrame(revision, problem) {
    const text = `Revision ${revision} cannot be shown. ${problem}`;
    redraw(this._step, h("p", { class: "banner warn" }, text));
    redraw(this._changes);
    redraw(this._state);
    this._graph.draw(null);
  }

  _title(source) {
    const { game, version } = source.timeline;
    document.title = `${game} · inspector · hotseat`;
    const name = source.isFile ? source.name : h("code", {}, source.name);
    return h(
      "header",
      { class: "row spread title" },
      h(
        "div",
        { class: "row" },
        h("h1", {}, game),
        this._status,
        h("span", { class: "muted small ident" }, name, ` · version ${version}`),
      ),
      h(
        "div",
        { class: "row tools" },
        h(
          "div",
          { class: "row view-as" },
          h("label", { for: "view-as", class: "small" }, "Seen as"),
          this._viewField,
        ),
        button("Keys", "keys", showKeys),
        this._fileButton(),
        button("Close", "", this._ways.close),
      ),
    );
  }

  _fileButton() {
    const field = h("input", {
      type: "file",
      class: "unseen",
      tabindex: "-1",
      "aria-hidden": "true",
      accept: ".json,.hotseat,application/json",
      onchange: () => field.files[0] && this._ways.openFile(field.files[0]),
    });
    return h(
      "span",
      { class: "file" },
      field,
      button("Open a file", "", () => field.click()),
    );
  }

  _panelsWith(graphPlace) {
    const panel = (name, tab, title, place) =>
      h(
        "section",
        { class: `card panel panel-${name}`, "data-tab": tab },
        title instanceof Node ? title : h("h2", {}, title),
        place,
      );
    const column = (...panels) => h("div", { class: "column" }, panels);
    return h(
      "div",
      { class: "panels", "data-tab": "step" },
      column(panel("steps", "steps", "Steps", this.list)),
      column(
        panel("step", "step", "What happened", this._step),
        panel("changes", "step", "What changed", this._changes),
      ),
      column(
        panel("graph", "graph", "Where it is", graphPlace),
        panel("state", "state", this._stateTitle, this._state),
      ),
    );
  }

  /** On narrow screens one of the panels is shown. */
  _tabs() {
    const choose = (name) => {
      this._panels.dataset.tab = name;
      for (const one of bar.children) {
        one.setAttribute("aria-pressed", String(one.dataset.name === name));
      }
      this._ways.tab();
    };
    const bar = h(
      "div",
      { class: "tabs", role: "group", "aria-label": "What is shown" },
      Object.entries(TABS).map(([name, title]) =>
        h(
          "button",
          {
            class: "compact",
            type: "button",
            "data-name": name,
            "aria-pressed": String(name === "step"),
            onclick: () => choose(name),
          },
          title,
        ),
      ),
    );
    return bar;
  }

  _more(title, tree) {
    const ontoggle = (event) =>
      event.target.open ? this._opened.add(title) : this._opened.delete(title);
    return h(
      "details",
      { class: "more", open: this._opened.has(title), ontoggle },
      h("summary", { "data-key": title }, title),
      tree,
    );
  }
}

/**
 * As whom a match may be seen: value and name.
 * @param {import("./inspect_source.js").Source} source @returns {[string, string][]}
 */
export function seatsOf(source) {
  const seats = source.timeline.seats.map((seat) => [seat, `Seat ${seat}`]);
  return [["all", "Everything"], ["", "A spectator"], ...seats];
}

function button(name, kind, onclick) {
  return h("button", { class: ["compact", kind], type: "button", onclick }, name);
}
