// The time that is left until a deadline, by the server's clock.

import { h } from "./dom.js";
import { say } from "./said.js";

const TICK_MS = 250;
/** From here on it is pressing. */
const PRESSING_S = 10;

export class Countdown {
  /** @param {() => number} now milliseconds of the server */
  constructor(now) {
    this._now = now;
    this._deadline = /** @type {number | null} */ (null);
    this._said = false;
    this._mine = false;
    this.element = h("span", {
      class: "countdown number",
      role: "timer",
      hidden: true,
    });
    this._ticking = setInterval(() => this._tick(), TICK_MS);
  }

  /** @param {number | null} deadline @param {boolean} mine whether the reader must act */
  set(deadline, mine) {
    if (deadline !== this._deadline) this._said = false;
    this._deadline = deadline;
    this._mine = mine;
    this._tick();
  }

  close() {
    clearInterval(this._ticking);
  }

  _tick() {
    this.element.hidden = this._deadline === null;
    if (this._deadline === null) return;
    const left = Math.max(0, Math.ceil((this._deadline - this._now()) / 1000));
    this.element.textContent = `${clock(left)} left`;
    this.element.classList.toggle("pressing", left <= PRESSING_S);
    if (left <= PRESSING_S && left > 0 && this._mine && !this._said) {
      this._said = true;
      say(`${left} seconds left.`);
    }
  }
}

function clock(seconds) {
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
  const two = (n) => String(n).padStart(2, "0");
  const rest = `${two(minutes)}:${two(seconds % 60)}`;
  return hours ? `${hours}:${rest}` : rest.replace(/^0/, "");
}
