// The bar by which a match is gone through: to and fro, play and pause, speed, where.

import { h, redraw, s } from "./dom.js";

const SIGNS = {
  first: "M5 4h2.5v16H5z M20 4v16L8.5 12z",
  back: "M17 4v16L6 12z",
  play: "M7 3.5v17L20 12z",
  pause: "M6 4h4.5v16H6z M13.5 4H18v16h-4.5z",
  on: "M7 4v16l11-8z",
  last: "M4 4v16l11.5-8z M16.5 4H19v16h-2.5z",
  slower: "M5 10.7h14v2.6H5z",
  faster: "M10.7 5h2.6v5.7H19v2.6h-5.7V19h-2.6v-5.7H5v-2.6h5.7z",
};

export class Transport {
  /** @param {import("./inspect_playback.js").Playback} playback */
  constructor(playback) {
    this._playback = playback;
    this._slider = h("input", {
      type: "range",
      min: 0,
      max: 0,
      step: 1,
      class: "slider",
      "aria-label": "Revision",
      oninput: () => playback.go(Number(this._slider.value)),
    });
    this._field = h("input", {
      type: "text",
      inputmode: "numeric",
      class: "number",
      size: 5,
      "aria-label": "Go to revision",
      onchange: () => this._enter(),
      onfocus: () => this._field.select(),
    });
    this._of = h("span", { class: "muted number" });
    this._play = h("button", {
      class: "primary round",
      type: "button",
      onclick: () => playback.toggle(),
    });
    this._speed = h("span", { class: "number speed", "aria-live": "polite" });
    this._live = h("button", {
      class: "compact live",
      type: "button",
      onclick: () => playback.live(),
    });
    this.element = h(
      "div",
      { class: "transport card", role: "group", "aria-label": "Go through the match" },
      h(
        "div",
        { class: "buttons" },
        button("first", "The creation (Home)", () => playback.go(0)),
        button("back", "The revision before (←)", () => playback.step(-1)),
        this._play,
        button("on", "The next revision (→)", () => playback.step(1)),
        button("last", "The newest revision (End)", () => playback.go(Infinity)),
      ),
      this._slider,
      h("span", { class: "where" }, this._field, this._of),
      h(
        "span",
        { class: "pace" },
        button("slower", "Slower (-)", () => playback.faster(-1)),
        this._speed,
        button("faster", "Faster (+)", () => playback.faster(1)),
      ),
      this._live,
    );
  }

  focusField() {
    this._field.focus();
  }

  /** @param {import("./inspect_source.js").Source} source */
  draw(source) {
    const { revision, playing, following, speed } = this._playback;
    this._slider.max = String(source.head);
    this._slider.value = String(revision);
    this._slider.setAttribute(
      "aria-valuetext",
      `revision ${revision} of ${source.head}`,
    );
    if (document.activeElement !== this._field) this._field.value = String(revision);
    this._of.textContent = `/ ${source.head}`;
    this._play.replaceChildren(sign(playing ? "pause" : "play"));
    this._play.setAttribute("aria-label", playing ? "Pause" : "Play");
    this._play.title = playing ? "Pause (Space)" : "Play (Space)";
    this._speed.textContent = `×${speed}`;
    this._live.hidden = !source.grows;
    this._live.setAttribute("aria-pressed", String(following));
    redraw(
      this._live,
      h("span", { class: ["dot", following && "good pulse"] }),
      following ? "Live" : "To live",
    );
  }

  _enter() {
    const text = this._field.value.trim();
    if (/^\d{1,12}$/.test(text)) this._playback.go(Number(text));
    else this._field.value = String(this._playback.revision);
  }
}

function button(shown, name, onclick) {
  return h(
    "button",
    { class: "compact", type: "button", "aria-label": name, title: name, onclick },
    sign(shown),
  );
}

function sign(name) {
  return s(
    "svg",
    { class: "sign", viewBox: "0 0 24 24", "aria-hidden": "true" },
    s("path", { d: SIGNS[name] }),
  );
}
