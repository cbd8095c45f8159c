// The inspector of one match: its controls, what is fetched for them, what is shown.

import { ApiError } from "./api.js";
import { onKeys } from "./inspect_keys.js";
import { InspectorPage, seatsOf } from "./inspect_page.js";
import { headline } from "./inspect_panels.js";
import { Playback } from "./inspect_playback.js";
import { StepList } from "./inspect_steps.js";
import { Transport } from "./inspect_transport.js";
import { say } from "./said.js";

const POLL_MS = 1000; // between two questions for what is new, while anybody looks
const ADDRESS_MS = 300; // browsers allow an address to change only so often
const BUSY_MS = 500; // before something is asked for again that came too fast
const AHEAD = 4; // frames that are there before they are played
const TURN_MAX = 2000; // revisions that are looked through for another turn

export class Inspector {
  /**
   * @param {HTMLElement} main
   * @param {import("./inspect_source.js").Source} source
   * @param {any} graph
   * @param {{openFile: (file: File) => void, close: () => void}} ways
   */
  constructor(main, source, graph, ways) {
    this._source = source;
    this._seat = /** @type {string | null} */ (null);
    this._shown = /** @type {any} */ (null);
    this._problem = "";
    this._wanted = 0;
    this._polling = 0;
    this._address = 0;
    this._linesAsked = false;
    this._closed = new AbortController();
    this.playback = new Playback(
      () => this._changed(),
      () => ({ head: source.head, grows: source.grows }),
    );
    this._transport = new Transport(this.playback);
    this._page = new InspectorPage(main, source, graph, this._transport.element, {
      ...ways,
      view: (value) => this._view(value),
      tab: () => this._drawList(),
    });
    this._list = new StepList(
      this._page.list,
      (revision) => this.playback.go(revision),
      (first, last) => this._wantLines(first, last),
    );
    const { signal } = this._closed;
    onKeys(this, signal);
    document.addEventListener("visibilitychange", () => this._poll(), { signal });
    this._schedule();
  }

  /** Whether it shows that match of the cluster. @param {string} match */
  shows(match) {
    return !this._source.isFile && this._source.timeline.match === match;
  }

  /** Go where an address says. @param {URLSearchParams} asked */
  goThere(asked) {
    const seat = asked.get("as");
    if (seat !== null && seatsOf(this._source).some(([value]) => value === seat)) {
      this._seat = seat;
      this._page.showView(seat);
    }
    const revision = asked.get("r") ?? "";
    if (/^\d{1,12}$/.test(revision)) this.playback.go(Number(revision));
    else if (this._source.grows) this.playback.live();
    else this.playback.go(0);
  }

  close() {
    this._closed.abort();
    this.playback.stop();
    clearTimeout(this._polling);
    clearTimeout(this._address);
  }

  /** See it as the next seat. @param {number} by */
  viewNext(by) {
    const values = seatsOf(this._source).map(([value]) => value);
    const place = values.indexOf(this._seat ?? "all");
    this._view(values[(place + by + values.length) % values.length]);
  }

  /** To where the turn changes, on or back. @param {number} by */
  async turn(by) {
    const { _source: source, playback } = this;
    const from = playback.revision;
    const span =
      by > 0 ? [from, from + TURN_MAX] : [Math.max(0, from - TURN_MAX), from];
    await this._guarded(() => source.lines(...span));
    const turnOf = (revision) => source.rows[revision]?.turn;
    const began = (revision) => {
      while (revision > 0 && turnOf(revision - 1) === turnOf(revision)) revision--;
      return revision;
    };
    let to = from;
    if (by < 0) to = began(Math.max(0, began(from) - 1));
    else while (to < source.head && turnOf(to) === turnOf(from)) to++;
    playback.go(to);
  }

  askForRevision() {
    this._transport.focusField();
  }

  _view(value) {
    this._seat = value === "all" ? null : value;
    say(`Seen as: ${this._page.showView(value)}.`);
    this._changed();
  }

  /** Something of the controls, or of the match, is another one now. */
  _changed() {
    this._page.showStatus(this._source.timeline, this._problem);
    this._transport.draw(this._source);
    this._drawList();
    this._frameWanted();
    clearTimeout(this._address);
    this._address = setTimeout(() => this._keepAddress(), ADDRESS_MS);
  }

  _drawList() {
    this._list.show(this._source.rows, this._source.head, this.playback.revision);
  }

  /** Fetch the frame that is to be shown; of several that are wanted, the last one. */
  async _frameWanted() {
    const { _source: source, playback, _seat: seat } = this;
    const wanted = ++this._wanted;
    const { revision, direction } = playback;
    let frame = source.known(revision, seat);
    if (!frame) {
      frame = await this._guarded(() => source.frame(revision, seat, direction));
      if (wanted !== this._wanted || this._closed.signal.aborted) return;
    }
    if (!frame) {
      this._shown = null;
      this._page.showNoFrame(revision, this._problem);
      return;
    }
    if (frame !== this._shown) this._show(frame);
    const ahead = revision + AHEAD;
    if (playback.playing && ahead <= source.head && !source.known(ahead, seat))
      source.frame(ahead, seat, 1).catch(() => {}); // if it fails, it does when shown
  }

  _show(frame) {
    this._shown = frame;
    this._page.showFrame(frame, this._seat);
    if (this.playback.playing) return; // nobody could listen to that
    say(`Revision ${frame.revision}: ${headline(frame)}; in ${frame.path.at(-1)}.`);
  }

  async _wantLines(first, last) {
    if (this._linesAsked) return;
    this._linesAsked = true;
    await this._guarded(() => this._source.lines(Math.max(0, first - 1), last));
    this._linesAsked = false;
    const stuck = this._problem || this._source.timeline.problem;
    if (!this._closed.signal.aborted && !stuck) this._drawList();
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
        this._page.showStatus(this._source.timeline, this._problem);
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
    this.playback.grown();
    this._schedule();
  }

  _keepAddress() {
    if (this._closed.signal.aborted || this._source.isFile) return;
    const parts = new URLSearchParams({ m: this._source.timeline.match });
    if (!this.playback.following) parts.set("r", String(this.playback.revision));
    if (this._seat !== null) parts.set("as", this._seat);
    history.replaceState(null, "", `${location.pathname}#${parts}`);
  }
}
