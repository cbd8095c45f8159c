// A place at a table, kept over lost links: what is said here is said once, and how the
// table stands is told whole each time.

import { claimsOf, renew } from "./token.js";

const WAIT_MS_MIN = 250;
const WAIT_MS_MAX = 8000;
const LOOK_MS = 1000;
/** Before the table says how often it is heard of. */
const HEARTBEAT_MS = 15_000;
/** Close codes after which coming back is of no use. */
const REFUSED = new Set([1000, 4400, 4401, 4403, 4404, 4409, 4500]);
const FLOOD = 4429;
const FLOOD_WAIT_MS = 60_000;

export class LobbyConnection {
  /**
   * @param {string} token of a guest
   * @param {object} told
   * @param {(message: any) => void} told.message anything but heartbeats
   * @param {(link: "connecting" | "current" | "stale" | "refused", why: string) => void} told.link
   */
  constructor(token, told) {
    this.token = token;
    this.told = told;
    this.link = "connecting";
    this.lobby = claimsOf(token)?.match ?? "";
    this._heartbeatMs = HEARTBEAT_MS;
    this._heardAt = Date.now();
    this._tries = 0;
    this._again = /** @type {any} */ (null);
    this._socket = /** @type {WebSocket | null} */ (null);
    this._looking = setInterval(() => this._look(), LOOK_MS);
    this._connect();
  }

  /** @param {string} type without its prefix, e.g. "take_seat" */
  say(type, more = {}) {
    const prefix = type === "set_config" ? "host" : "lobby";
    const text = JSON.stringify({ type: `${prefix}:${type}`, ...more });
    if (this._socket?.readyState === WebSocket.OPEN) this._socket.send(text);
  }

  close() {
    clearInterval(this._looking);
    clearTimeout(this._again);
    const socket = this._socket;
    this._socket = null;
    socket?.close(1000);
  }

  _connect() {
    clearTimeout(this._again);
    this._again = null;
    this._heardAt = Date.now();
    const place = location.origin.replace(/^http/, "ws");
    const parts = new URLSearchParams({ token: this.token, hotseat: "1" });
    const socket = new WebSocket(
      `${place}/lobbies/${encodeURIComponent(this.lobby)}?${parts}`,
    );
    this._socket = socket;
    socket.onmessage = ({ data }) =>
      socket === this._socket && this._hear(JSON.parse(data));
    socket.onclose = ({ code, reason }) =>
      socket === this._socket && this._ended(code, reason);
  }

  _hear(message) {
    this._heardAt = Date.now();
    if (message.type === "heartbeat") {
      this._socket?.send(JSON.stringify({ type: "heartbeat", id: message.id }));
      return;
    }
    if (message.type === "lobby:welcome") {
      this._tries = 0;
      this._heartbeatMs = message.heartbeatMs;
      if (message.guestToken) {
        renew(this.token, message.guestToken);
        this.token = message.guestToken;
      }
    }
    this.told.message(message);
    if (message.type === "lobby:state") this._say("current", "");
  }

  /** A link that is silent for longer than it should be, as after a sleep, is left. */
  _look() {
    const socket = this._socket;
    if (!socket || Date.now() - this._heardAt < this._heartbeatMs * 1.5) return;
    socket.onclose = socket.onmessage = null;
    socket.close();
    this._ended(1006, "silent");
  }

  _ended(code, reason) {
    this._socket = null;
    if (REFUSED.has(code)) {
      this._say("refused", reason);
      return;
    }
    this._say("stale", reason);
    const wait = Math.min(WAIT_MS_MAX, WAIT_MS_MIN * 2 ** this._tries++);
    const jitter = wait * (0.5 + Math.random() / 2);
    this._again = setTimeout(
      () => this._connect(),
      code === FLOOD ? FLOOD_WAIT_MS : jitter,
    );
  }

  _say(link, why) {
    if (link === this.link) return;
    this.link = link;
    this.told.link(link, why);
  }
}
