// Steps through what has happened: back, on, and by itself.

import { h, s } from "./dom.js";

/** How long a moment is shown while it plays. */
const PACE_MS = 900;

const SIGNS = {
  first: "M5 4v16M20 4 9 12l11 8z",
  back: "M17 4 6 12l11 8z",
  play: "M7 4l12 8-12 8z",
  pause: "M8 4v16M16 4v16",
  on: "M7 4l11 8-11 8z",
  last: "M19 4v16M4 4l11 8-11 8z",
};

export class ReplayBar {
  /**
   * @param {object} asked
   * @param {() => number} asked.count moments
   * @param {() => number} asked.shown
   * @param {(frame: number) => void} asked.look
   */
  constructor({ count, shown, look }) {
    this._count = count;
    this._shown = shown;
    this._look = look;
    this._playing = /** @type {any} */ (null);
  }

  /** Play from here; from the beginning, if this is the end. */
  play() {
    if (this._shown() >= this._count() - 1) this._look(0);
    clearInterval(this._playing);
    this._playing = setInterval(() => {
      if (this._shown() >= this._count() - 1) this.pause();
      else this._look(this._shown() + 1);
    }, PACE_MS);
    this._look(this._shown());
  }

  pause() {
    clearInterval(this._playing);
    this._playing = null;
    this._look(this._shown());
  }

  close() {
    clearInterval(this._playing);
    this._playing = null;
  }

  draw() {
    const [at, last] = [this._shown(), this._count() - 1];
    const step = (to, sign, label) =>
      h(
        "button",
        {
          type: "button",
          "data-key": `replay/${label}`,
          "aria-label": label,
          "aria-disabled": to < 0 || to > last || to === at ? "true" : null,
          onclick: () => to >= 0 && to <= last && this._by(to),
        },
        drawing(sign),
      );
    return h(
      "div",
      { class: "replay", role: "group", "aria-label": "Replay" },
      step(0, "first", "To the beginning"),
      step(at - 1, "back", "A step back"),
      h(
        "button",
        {
          type: "button",
          class: "primary",
          "data-key": "replay/play",
          "aria-label": this._playing ? "Pause" : "Play",
          onclick: () => (this._playing ? this.pause() : this.play()),
        },
        drawing(this._playing ? "pause" : "play"),
      ),
      step(at + 1, "on", "A step on"),
      step(last, "last", "To the end"),
      h("input", {
        type: "range",
        min: 0,
        max: last,
        value: at,
        "data-key": "replay/range",
        "aria-label": "Moment",
        "aria-valuetext": `${at} of ${last}`,
        oninput: ({ target }) => this._by(Number(target.value)),
      }),
      h("span", { class: "small number muted" }, `${at} / ${last}`),
    );
  }

  _by(frame) {
    clearInterval(this._playing);
    this._playing = null;
    this._look(frame);
  }
}

function drawing(sign) {
  const look = { class: "sign", viewBox: "0 0 24 24", "aria-hidden": "true" };
  return s("svg", look, s("path", { d: SIGNS[sign] }));
}
