// The inspector of one match: controls, steps, graph, what happened, what changed, state.

import { h, redraw } from "./dom.js";
import { ApiError } from "./api.js";
import { GraphView } from "./inspect_graph.js";
import { changesPanel, headline, stepPanel } from "./inspect_panels.js";
import { Playback } from "./inspect_playback.js";
import { StepList } from "./inspect_steps.js";
import { onKeys, showKeys } from "./inspect_keys.js";
import { Transport } from "./inspect_transport.js";
import { say } from "./said.js";
import { ValueTree } from "./value_tree.js";

const POLL_MS = 1000; // between two questions for what is new, while anybody looks
const ADDRESS_MS = 300; // browsers allow an address to change only so often
const BUSY_MS = 500; // before a frame is asked for again that came too fast

const STATUS = {
  live: ["live", "good"],
  ended: ["over", ""],
  quarantined: ["set apart", "bad"],
  away: ["asking again", "warn"],
  lost: ["lost", "bad"],
  file: ["file", ""],
};

const TABS = { step: "Step", graph: "Graph", state: "State", steps: "All steps" };

export class Inspector {
  /**
   * @param {HTMLElement} main
   * @param {import("./inspect_source.js").Source} source
   * @param {any} graph
   * @param {{openFile: (file: File) => void, close: () => void}} ways
   */
  constructor(main, source, graph, ways) {
    this._source = source;
    this._ways = ways;
    this._seat = /** @type {string | null} */ (null);
    this._frame = /** @type {any} */ (null);
    this._problem = "";
    this._wanted = 0;
    this._polling = 0;
    this._address = 0;
    this._closed = new AbortController();
    this._tree = new ValueTree();
    this._playback = new Playback(
      () => this._changed(),
      () => ({ head: source.head, grows: source.grows }),
    );
    this._build(main);
    this._graph.show(graph);
    onKeys(this, this._closed.signal);
    document.addEventListener("visibilitychange", () => this._poll(), {
      signal: this._closed.signal,
    });
    this._schedule();
  }

  get playback() {
    return this._playback;
  }

  /** Whether it shows that match of the cluster. @param {string} match */
  shows(match) {
    return !this._source.isFile && this._source.timeline.match === match;
  }

  /** Go where an address says. @param {URLSearchParams} asked */
  goThere(asked) {
    const seat = asked.get("as");
    if (seat !== null && this._seats().some(([value]) => value === seat))
      this._seat = seat;
    const revision = asked.get("r");
    const known = revision !== null && /^\d{1,12}$/.test(revision);
    if (known) this._playback.go(Number(revision));
    else if (this._source.grows) this._playback.live();
    else this._playback.go(0);
  }

  close() {
    this._closed.abort();
    this._playback.go(this._playback.revision);
    clearTimeout(this._polling);
    clearTimeout(this._address);
  }

  /** See it as the next seat. @param {number} by */
  viewNext(by) {
    const seats = this._seats().map(([value]) => value);
    const place = seats.indexOf(this._seat ?? "all");
    this._view(seats[(place + by + seats.length) % seats.length]);
  }

  /** To where the turn changes, on or back. @param {number} by */
  async turn(by) {
    const { _source: source, _playback: playback } = this;
    const to =
      by > 0 ? Math.min(playback.revision + 2000, source.head) : playback.revision;
    await this._guarded(() =>
      source.lines(by > 0 ? playback.revision : Math.max(0, to - 2000), to),
    );
    const turnOf = (revision) => source.rows[revision]?.turn;
    let at = playback.revision;
    if (by > 0) {
      const now = turnOf(at);
      while (at < source.head && turnOf(at) === now) at++;
    } else {
      const began = (from) => {
        while (from > 0 && turnOf(from - 1) === turnOf(from)) from--;
        return from;
      };
      at = began(at) - 1 >= 0 ? began(began(at) - 1) : 0;
    }
    playback.go(at);
  }

  askForRevision() {
    this._transport.focusField();
  }

  _build(main) {
    const { _source: source } = this;
    const { game, version } = source.timeline;
    document.title = `${game} · inspector · hotseat`;
    this._status = h("span", { class: "chip" });
    this._banner = h("div", { role: "alert" });
    this._graphPlace = h("div", { class: "graph-place" });
    this._graph = new GraphView(this._graphPlace);
    this._stepPlace = h("div", { class: "stack tight" });
    this._changesPlace = h("div", {});
    this._statePlace = h("div", {});
    this._stateTitle = h("h2", {});
    this._transport = new Transport(this._playback);
    const list = h("div", {
      class: "steps",
      role: "listbox",
      tabindex: "0",
      "aria-label": "Revisions",
    });
    this._list = new StepList(
      list,
      (revision) => this._playback.go(revision),
      (first, last) => this._wantLines(first, last),
    );
    const panel = (name, tab, title, place) =>
      h(
        "section",
        { class: `card panel panel-${name}`, "data-tab": tab },
        title instanceof Node ? title : h("h2", {}, title),
        place,
      );
    const column = (...panels) => h("div", { class: "column" }, panels);
    this._panels = h(
      "div",
      { class: "panels", "data-tab": "step" },
      column(panel("steps", "steps", "Steps", list)),
      column(
        panel("step", "step", "What happened", this._stepPlace),
        panel("changes", "step", "What changed", this._changesPlace),
      ),
      column(
        panel("graph", "graph", "Where it is", this._graphPlace),
        panel("state", "state", this._stateTitle, this._statePlace),
      ),
    );
    redraw(
      main,
      h(
        "div",
        { class: "inspector" },
        h(
          "header",
          { class: "row spread title" },
          h(
            "div",
            { class: "row" },
            h("h1", {}, game),
            this._status,
            h(
              "span",
              { class: "muted small ident" },
              source.isFile ? source.name : h("code", {}, source.name),
              version && ` · version ${version}`,
            ),
          ),
          h(
            "div",
            { class: "row tools" },
            this._viewSelect(),
            h(
              "button",
              { class: "compact keys", type: "button", onclick: showKeys },
              "Keys",
            ),
            this._fileButton(),
            h(
              "button",
              { class: "compact", type: "button", onclick: this._ways.close },
              "Close",
            ),
          ),
        ),
        this._banner,
        this._tabs(),
        this._panels,
        this._transport.element,
      ),
    );
  }

  _tabs() {
    const choose = (name) => {
      this._panels.dataset.tab = name;
      for (const button of bar.children) {
        button.setAttribute("aria-pressed", String(button.dataset.name === name));
      }
      this._list.show(this._source.rows, this._source.head, this._playback.revision);
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

  /** Who may be looked as: value and name. @returns {[string, string][]} */
  _seats() {
    const seats = this._source.timeline.seats.map((seat) => [seat, `Seat ${seat}`]);
    return [["all", "Everything"], ["", "A spectator"], ...seats];
  }

  _viewSelect() {
    this._viewField = h(
      "select",
      { id: "view-as", onchange: (event) => this._view(event.target.value) },
      this._seats().map(([value, name]) => h("option", { value }, name)),
    );
    return h(
      "div",
      { class: "row view-as" },
      h("label", { for: "view-as", class: "small" }, "Seen as"),
      this._viewField,
    );
  }

  _view(value) {
    this._seat = value === "all" ? null : value;
    this._viewField.value = value;
    say(`Seen as ${this._viewField.selectedOptions[0].textContent}`);
    this._changed();
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
      h(
        "button",
        { class: "compact", type: "button", onclick: () => field.click() },
        "Open a file",
      ),
    );
  }

  /** Something of the controls, or of the match, is another one now. */
  _changed() {
    const { _source: source, _playback: playback } = this;
    const [word, tone] = STATUS[source.timeline.status];
    this._status.className = `chip ${tone}`;
    redraw(
      this._status,
      source.timeline.status === "live" && h("span", { class: "dot good pulse" }),
      word,
    );
    this._transport.draw(source);
    this._list.show(source.rows, source.head, playback.revision);
    this._drawBanner();
    this._frameWanted();
    clearTimeout(this._address);
    this._address = setTimeout(() => this._keepAddress(), ADDRESS_MS);
  }

  _drawBanner() {
    const { status, problem } = this._source.timeline;
    const said = this._problem || (problem && `${problem.message} (${problem.code})`);
    const text =
      said ||
      (status === "quarantined"
        ? "The match is set apart and does not go on; its node’s log says why."
        : "");
    if (this._banner.textContent === text) return;
    redraw(this._banner, text && h("p", { class: "banner warn" }, text));
  }

  /** Fetch the frame that is to be shown; of several that are wanted, the last one. */
  async _frameWanted() {
    const { _source: source, _playback: playback, _seat: seat } = this;
    const wanted = ++this._wanted;
    const revision = playback.revision;
    let frame = source.known(revision, seat);
    if (!frame) {
      const asked = await this._guarded(() =>
        source.frame(revision, seat, playback.direction),
      );
      frame = asked;
      if (wanted !== this._wanted || this._closed.signal.aborted) return;
      if (!frame) return this._drawMissing(revision);
    }
    const another = frame !== this._frame;
    this._frame = frame;
    if (another) this._drawFrame(frame);
    const ahead = revision + 4;
    const more = playback.playing && ahead <= source.head && !source.known(ahead, seat);
    if (more) source.frame(ahead, seat, 1).catch(() => {}); // asked for again when shown
  }

  _drawFrame(frame) {
    const seat = this._seat;
    redraw(this._stepPlace, stepPanel(frame));
    this._graph.draw(frame);
    const seen = seat === null ? null : frame.seen;
    const name = seat === "" ? "a spectator" : `seat ${seat}`;
    const diff = seen ? seen.diff : frame.diff;
    const paths = diff.map((change) => change.path);
    if (seen?.problem)
      redraw(this._changesPlace, h("p", { class: "banner bad" }, seen.problem));
    else
      redraw(
        this._changesPlace,
        frame.kind === "initial"
          ? h("p", { class: "muted" }, "Nothing came before the creation.")
          : changesPanel(
              diff,
              seen ? seen.diffMore : frame.diffMore,
              seen ? "The view" : "G",
            ),
      );
    this._stateTitle.textContent = seen ? `What ${name} sees` : "State";
    redraw(
      this._statePlace,
      this._tree.draw(seen ? seen.view : frame.G, paths),
      !seen &&
        Object.keys(frame.selectors ?? {}).length > 0 &&
        more("Selectors", new ValueTree().draw(frame.selectors)),
      seen?.step && more("The step, as it is told", new ValueTree().draw(seen.step)),
    );
    if (!this._playback.playing)
      say(`Revision ${frame.revision}: ${headline(frame)}; in ${frame.path.at(-1)}.`);
  }

  _drawMissing(revision) {
    this._frame = null;
    redraw(
      this._stepPlace,
      h(
        "p",
        { class: "banner warn" },
        `Revision ${revision} cannot be shown. ${this._problem}`,
      ),
    );
    redraw(this._changesPlace);
    redraw(this._statePlace);
    this._graph.draw(null);
  }

  async _wantLines(first, last) {
    if (this._linesAsked) return;
    this._linesAsked = true;
    const [from, to] = [Math.max(0, first - 1), last];
    await this._guarded(() => this._source.lines(from, to));
    this._linesAsked = false;
    if (this._closed.signal.aborted || this._source.timeline.problem) return;
    this._list.show(this._source.rows, this._source.head, this._playback.revision);
  }

  /** What the gateway says no with stands in the banner until it says yes. */
  async _guarded(ask) {
    for (let tries = 0; ; tries++) {
      try {
        const answer = await ask();
        this._problem = "";
        return answer;
      } catch (error) {
        if (!(error instanceof ApiError)) throw error;
        if (error.code === "busy" && tries < 3) {
          await new Promise((done) => setTimeout(done, BUSY_MS));
          continue;
        }
        this._problem = `${error.message} (${error.code})`;
        this._drawBanner();
        return undefined;
      }
    }
  }

  _schedule() {
    clearTimeout(this._polling);
    if (this._closed.signal.aborted || !this._source.grows) return;
    this._polling = setTimeout(() => this._poll(), POLL_MS);
  }

  async _poll() {
    clearTimeout(this._polling);
    if (document.hidden || this._closed.signal.aborted || !this._source.grows) return;
    await this._guarded(() => this._source.refresh());
    if (this._closed.signal.aborted) return;
    this._playback.grown();
    this._schedule();
  }

  _keepAddress() {
    if (this._closed.signal.aborted || this._source.isFile) return;
    const parts = new URLSearchParams({ m: this._source.timeline.match });
    if (!this._playback.following) parts.set("r", String(this._playback.revision));
    if (this._seat !== null) parts.set("as", this._seat);
    history.replaceState(null, "", `${location.pathname}#${parts}`);
  }
}

function more(title, tree) {
  return h("details", { class: "more" }, h("summary", {}, title), tree);
}
