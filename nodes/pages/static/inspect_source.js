// Where the inspector's page gets a match from: revisions in lines, and whole frames.
// What was fetched is kept, as far as it is of use.

import { ApiError } from "./api.js";
import { ask } from "./operator_session.js";

const PAGE = 500; // lines that are fetched at once
const FRAMES_KEPT = 256;
const FRAMES_AHEAD = 24; // fetched at once: playing does not wait for each

export class Source {
  /** @param {string} under where its parts are, as `/api/matches/ID` @param {File} [file] */
  constructor(under, file) {
    this._under = under;
    this._file = file;
    this._frames = new Map();
    this._asking = new Map();
    /** @type {any[]} lines by revision, with holes */
    this.rows = [];
    /** @type {any} the newest `TimelineBody`, without its rows */
    this.timeline = null;
  }

  /** A match of the cluster. @param {string} match */
  static match(match) {
    return new Source(`/api/matches/${encodeURIComponent(match)}`);
  }

  /** A file from this machine. @param {File} file */
  static async file(file) {
    const source = new Source("", file);
    await source._send();
    return source;
  }

  get name() {
    return this._file?.name ?? this.timeline?.match ?? "";
  }

  get isFile() {
    return this._file !== undefined;
  }

  get head() {
    return this.timeline?.head ?? 0;
  }

  /** Whether more may come. */
  get grows() {
    return ["live", "away", "quarantined"].includes(this.timeline?.status);
  }

  /** Begin, or see what is new: the lines from the newest one known on. */
  async refresh() {
    await this._page(this.timeline ? this.head + 1 : 0);
  }

  /** The lines of some revisions, as far as they are not known. */
  async lines(first, last) {
    const page = Math.floor(first / PAGE) * PAGE;
    for (let from = page; from <= Math.min(last, this.head); from += PAGE) {
      const to = Math.min(from + PAGE - 1, this.head);
      for (let at = from; at <= to; at++) {
        if (this.rows[at] === undefined) {
          await this._page(from);
          break;
        }
      }
    }
  }

  async graph() {
    return (await this._get("graph")).said;
  }

  /** A frame that is known, else undefined. @param {number} revision @param {string | null} seat */
  known(revision, seat) {
    return this._frames.get(key(revision, seat));
  }

  /**
   * A frame, and some that follow in the direction of travel.
   * @param {number} revision @param {string | null} seat whose view; "" a spectator's
   * @param {number} direction
   */
  async frame(revision, seat, direction = 1) {
    const found = this.known(revision, seat);
    if (found) return found;
    const from = direction < 0 ? Math.max(0, revision - FRAMES_AHEAD + 1) : revision;
    const count = direction < 0 ? revision - from + 1 : FRAMES_AHEAD;
    await this._fetch(from, count, seat);
    if (!this.known(revision, seat)) await this._fetch(revision, 1, seat);
    return this.known(revision, seat);
  }

  async _fetch(from, count, seat) {
    const name = `${from}+${count}/${seat}`;
    if (!this._asking.has(name)) {
      const asking = this._frames_of(from, count, seat);
      this._asking.set(name, asking);
      asking.finally(() => this._asking.delete(name)).catch(() => {});
    }
    await this._asking.get(name);
  }

  async _frames_of(from, count, seat) {
    const query = new URLSearchParams({ from: String(from), count: String(count) });
    if (seat !== null) query.set("seat", seat);
    const { said } = await this._get(`frames?${query}`);
    for (const frame of said.frames) this._frames.set(key(frame.revision, seat), frame);
    while (this._frames.size > FRAMES_KEPT) {
      this._frames.delete(this._frames.keys().next().value);
    }
    if (!said.frames.length && said.problem) {
      throw new ApiError(said.problem.code, said.problem.message, 422);
    }
  }

  async _page(from) {
    const { said } = await this._get(`timeline?from=${from}&limit=${PAGE}`);
    this._take(said);
  }

  _take({ rows, ...timeline }) {
    for (const row of rows) this.rows[row.revision] = row;
    this.timeline = timeline;
  }

  async _get(path) {
    try {
      return await ask(`${this._under}/${path}`);
    } catch (error) {
      const forgotten =
        error instanceof ApiError && error.code === "unknown_inspection";
      if (!forgotten || !this._file) throw error;
      await this._send(); // another gateway, or it was long ago
      return await ask(`${this._under}/${path}`);
    }
  }

  async _send() {
    const answer = await ask("/api/inspect", { body: this._file });
    this._under = `/api/inspections/${answer.said.id}`;
    if (!this.timeline) this._take(answer.said.timeline);
  }
}

function key(revision, seat) {
  return `${revision}/${seat === null ? "" : `as ${seat}`}`;
}
