// A place in a match, kept over lost links: one WebSocket at a time, the next one when
// it is gone. It knows the protocol's frame (welcome, heartbeat, coming back, why it
// ends), and nothing of what is played.
//
// Rules:
// - What was told last counts as current only while the link is known to live: after a
//   sleep, or a silence, the page is not current until a snapshot was told anew.
// - An action without an answer is sent again under its number. It is played once.
// - A newer token of the seat takes the place of the old one, here and in the address.
// - Who was replaced does not come back by themselves: `playHere` is a person's choice.

import { claimsOf, renew } from "./token.js";
import { forget, recall, remember } from "./memory.js";

/**
 * @typedef {"connecting" | "current" | "stale" | "replaced" | "refused" | "closed"} Link
 * - stale: what is shown may be old; the connection is being mended
 * - refused: it ended for a reason that coming back does not mend
 */

/** Between two tries to connect, at most. */
const WAIT_MS_MAX = 8000;
const WAIT_MS_MIN = 250;
/** Somebody who said far too much waits so long. */
const FLOOD_WAIT_MS = 60_000;
/** How often is looked whether the page has slept, and what counts as sleep. */
const LOOK_MS = 1000;
const SLEPT_MS = 4000;
/** An answer that takes longer does not come any more. */
const SYNC_MS = 3000;
const CONNECT_MS = 10_000;
/** Before the first heartbeat says how long to wait. */
const HEARTBEAT_MS = 15_000;

/** Close codes after which coming back is of no use, as gateways say them. */
const REFUSED = new Set([4400, 4401, 4403, 4404, 4500]);
const REPLACED = 4409;
const FLOOD = 4429;

export class Connection {
  /**
   * @param {string} token of a seat or a spectator
   * @param {object} told
   * @param {(message: any) => void} told.message anything but welcome and heartbeat
   * @param {(link: Link, why: string) => void} told.link
   */
  constructor(token, told) {
    /** The newest that is known, of a seat or a spectator. */
    this.token = token;
    this.told = told;
    /** @type {Link} */
    this.link = "connecting";
    this.claims = claimsOf(token);
    this.match = this.claims?.match ?? "";
    this.player = this.claims?.seat ?? "";
    // An old bookmark of this seat may have been opened in the tab that knows better.
    const kept = recall(`seat/${this.match}/${this.player}`);
    if (kept && outlasts(kept, token)) this._renew(kept);
    /** The last revision that was told; -1: none. */
    this.revision = -1;
    /** The server's clock less ours, in milliseconds. */
    this.clockAhead = 0;
    this.roundTripMs = /** @type {number | null} */ (null);
    this._waiting = /** @type {Map<string, any>} */ (new Map());
    this._nextAction = 0;
    this._socket = /** @type {WebSocket | null} */ (null);
    this._tries = 0;
    this._heartbeatMs = HEARTBEAT_MS;
    this._heardAt = now();
    this._lookedAt = now();
    this._syncAt = /** @type {number | null} */ (null);
    this._again = /** @type {any} */ (null);
    this._session = recall(`session/${this.match}/${this.player}`);
    this._numbered = /** @type {number | undefined} */ (undefined);
    this._woken = () => this._wake();
    this._looking = setInterval(() => this.look(), LOOK_MS);
    for (const [target, name] of WAKING) target.addEventListener(name, this._woken);
    this._connect();
  }

  /** Milliseconds since 1970 by the server's clock. */
  serverNow() {
    return Date.now() + this.clockAhead;
  }

  /** Act for the seat. @returns {string} the action's id @param {string} event */
  act(event, payload, baseRevision) {
    return this._ask({ type: "action", event, payload, baseRevision });
  }

  /** Ask to take back, agree, or decline. @param {"ask" | "agree" | "decline"} verb */
  undo(verb, baseRevision) {
    return this._ask({ type: "undo", verb, baseRevision });
  }

  /** Whether an answer to that action may still come. @param {string} id */
  waits(id) {
    return this._waiting.has(id);
  }

  /** Take the seat back from another page. */
  playHere() {
    this._session = null;
    this._tries = 0;
    this._connect();
  }

  /** Look whether the page has slept, or the link fell silent. */
  look() {
    const at = now();
    const slept = at - this._lookedAt > SLEPT_MS;
    this._lookedAt = at;
    const silent = at - this._heardAt;
    const socket = this._socket;
    if (!socket) return;
    if (socket.readyState !== WebSocket.OPEN) {
      if (silent > CONNECT_MS) this._lose(socket);
    } else if (this._syncAt !== null) {
      if (at - this._syncAt > SYNC_MS) this._lose(socket);
    } else if (slept || silent > this._heartbeatMs * 1.5) this._doubt();
  }

  /** Something says that the page goes on: do not wait for the next try. */
  _wake() {
    if (document.visibilityState === "hidden") return;
    if (this._again !== null) this._connect();
    else this.look();
  }

  /** Leave for good. */
  close() {
    clearInterval(this._looking);
    clearTimeout(this._again);
    for (const [target, name] of WAKING) target.removeEventListener(name, this._woken);
    this._socket?.close(1000);
    this._socket = null;
    this._say("closed", "");
  }

  _ask(said) {
    const id = String(this._nextAction++);
    const message = {
      ...said,
      matchID: this.match,
      playerID: this.player,
      clientActionID: id,
    };
    this._waiting.set(id, message);
    this._send(message);
    return id;
  }

  _connect() {
    clearTimeout(this._again);
    this._again = null;
    this._heardAt = now();
    this._syncAt = null;
    const parts = new URLSearchParams({
      token: this._session ?? this.token,
      hotseat: "1",
      legal: "1",
    });
    // Who comes the first time is told the newest steps as well, as far as they are kept.
    parts.set("since", String(Math.max(0, this.revision)));
    const place = location.origin.replace(/^http/, "ws");
    const socket = new WebSocket(
      `${place}/rooms/${encodeURIComponent(this.match)}?${parts}`,
    );
    this._socket = socket;
    if (this.link !== "stale")
      this._say(this.revision >= 0 ? "stale" : "connecting", "");
    socket.onmessage = ({ data }) =>
      socket === this._socket && this._hear(JSON.parse(data));
    socket.onclose = ({ code, reason }) =>
      socket === this._socket && this._ended(code, reason);
  }

  _hear(message) {
    this._heardAt = now();
    if (message.type === "welcome") this._welcomed(message);
    else if (message.type === "heartbeat") this._beaten(message);
    else {
      this._settle(message);
      this.told.message(message);
      if (message.type === undefined) {
        this._syncAt = null;
        this._say("current", "");
      }
    }
  }

  _welcomed(message) {
    this._tries = 0;
    this._heartbeatMs = message.heartbeatMs;
    this._setClock(message.serverMs);
    if (message.sessionToken) {
      this._session = message.sessionToken;
      remember(`session/${this.match}/${this.player}`, message.sessionToken);
    }
    if (message.seatToken) this._renew(message.seatToken);
    if (message.nextActionID !== undefined) this._number(message.nextActionID);
    this.told.message(message);
    for (const action of this._waiting.values()) this._send(action);
    this._sync();
  }

  /** @param {string} token */
  _renew(token) {
    renew(this.token, token);
    remember(`seat/${this.match}/${this.player}`, token);
    this.token = token;
  }

  /** Of a new session the numbers begin anew, and what was asked under the old one gets
   * no answer any more: whoever asked sees by the position whether it was played. */
  _number(next) {
    const session = claimsOf(this._session ?? "")?.session;
    if (session !== this._numbered) this._waiting.clear();
    this._numbered = session;
    const waiting = [...this._waiting.keys()].map((id) => Number(id) + 1);
    this._nextAction = Math.max(next, ...waiting);
  }

  _beaten(message) {
    this._setClock(message.serverMs);
    if (message.seatToken) this._renew(message.seatToken);
    if (typeof message.roundTripMs === "number") this.roundTripMs = message.roundTripMs;
    this._send({ type: "heartbeat", id: message.id });
    if (this.link === "stale" && this._syncAt === null) this._sync();
  }

  _setClock(serverMs) {
    if (typeof serverMs === "number") this.clockAhead = serverMs - Date.now();
  }

  /** Remember what was told, and which actions are answered. */
  _settle(message) {
    const answered = message.ackClientActionID ?? message.clientActionID;
    if (answered !== undefined) this._waiting.delete(answered);
    if (message.type === "action_rejected") return;
    if (typeof message.revision === "number") this.revision = message.revision;
  }

  /** What is shown may be old: ask. */
  _doubt() {
    this._say("stale", "");
    this._sync();
  }

  _sync() {
    this._syncAt = now();
    this._send({ type: "sync", matchID: this.match, playerID: this.player });
  }

  _send(message) {
    if (this._socket?.readyState === WebSocket.OPEN)
      this._socket.send(JSON.stringify(message));
  }

  /** The link does not live: go on with another one, without waiting for its end. */
  _lose(socket) {
    socket.onclose = socket.onmessage = null;
    socket.close();
    this._ended(1006, "silent");
  }

  _ended(code, reason) {
    this._socket = null;
    this._syncAt = null;
    if (code === REPLACED) this._say("replaced", reason);
    else if (REFUSED.has(code)) this._refused(code, reason);
    else {
      this._say(this.revision >= 0 ? "stale" : "connecting", reason);
      if (this.revision < 0)
        this.told.link(this.link, code === FLOOD ? reason : "unreachable");
      const wait = Math.min(WAIT_MS_MAX, WAIT_MS_MIN * 2 ** this._tries++);
      const jitter = wait * (0.5 + Math.random() / 2);
      this._again = setTimeout(
        () => this._connect(),
        code === FLOOD ? FLOOD_WAIT_MS : this._tries === 1 ? 0 : jitter,
      );
    }
  }

  /** The session's token may have run out while the seat's is still good. */
  _refused(code, reason) {
    if (this._session !== null && code === 4401) {
      this._session = null;
      forget(`session/${this.match}/${this.player}`);
      this._connect();
    } else this._say("refused", reason);
  }

  _say(link, why) {
    if (link === this.link) return;
    this.link = link;
    this.told.link(link, why);
  }
}

/** What may mean that a page goes on after it did not. */
const WAKING = /** @type {[EventTarget, string][]} */ ([
  [document, "visibilitychange"],
  [document, "resume"],
  [window, "pageshow"],
  [window, "online"],
]);

/** Whether one token is newer than another, and good for longer. */
function outlasts(/** @type {string} */ one, /** @type {string} */ other) {
  const { iat: made = 0, exp = 0 } = claimsOf(one) ?? {};
  const { iat: madeThen = Infinity, exp: expThen = 0 } = claimsOf(other) ?? {};
  return made >= madeThen && exp > expThen;
}

function now() {
  return Date.now(); // which goes on while a machine sleeps
}
