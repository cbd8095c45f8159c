// Any game: what is seen, and a form of what may be done.

import { h } from "../dom.js";
import { canonical } from "../match_state.js";
import { choice } from "./choice.js";

/** More choices of one event than that go into a list. */
const BUTTONS_MAX = 24;

/** @type {import("./boards.js").Board} */
export const form = {
  game: "",
  fits: () => true,

  draw(scene) {
    const legal = scene.snapshot.legalActions ?? null;
    const events = [...new Set((legal ?? []).map(([event]) => event))];
    return [
      h("div", { class: "seen" }, value(scene.view)),
      scene.open && events.map((event) => actions(scene, event, legal)),
      scene.open && byHand(scene, legal === null),
    ];
  },

  tell({ event }) {
    const said =
      event.payload === null || event.payload === undefined
        ? ""
        : ` ${canonical(event.payload)}`;
    return `${event.event}${said}`;
  },
};

function actions(scene, event, legal) {
  const payloads = legal
    .filter(([name]) => name === event)
    .map(([, payload]) => payload);
  const title = words(event);
  if (payloads.length <= BUTTONS_MAX) {
    return h(
      "div",
      { class: "choices", role: "group", "aria-label": title },
      payloads.map((payload) =>
        choice(
          scene,
          event,
          payload,
          payload === null ? title : `${title} ${brief(payload)}`,
        ),
      ),
    );
  }
  const list = h(
    "select",
    { "data-key": `list/${event}`, "aria-label": title },
    payloads.map((payload, n) => h("option", { value: String(n) }, brief(payload))),
  );
  return h(
    "div",
    { class: "row" },
    list,
    h(
      "button",
      {
        class: "primary",
        disabled: !scene.open,
        onclick: () => scene.act(event, payloads[Number(list.value)]),
      },
      title,
    ),
  );
}

/** An event with a payload in JSON, for games that do not say what may be done. */
function byHand(scene, open) {
  const { memory } = scene;
  const wrong = h(
    "p",
    { class: "small wrong", role: "alert", hidden: true },
    "That is not JSON.",
  );
  const event = h("input", {
    id: "event",
    name: "event",
    required: true,
    autocomplete: "off",
    value: memory.event ?? "",
    "data-key": "event",
  });
  const payload = h(
    "textarea",
    {
      id: "payload",
      name: "payload",
      rows: 3,
      spellcheck: "false",
      "data-key": "payload",
    },
    memory.payload ?? "",
  );
  const send = (submitted) => {
    submitted.preventDefault();
    memory.event = event.value;
    memory.payload = payload.value;
    try {
      scene.act(
        event.value.trim(),
        payload.value.trim() ? JSON.parse(payload.value) : null,
      );
    } catch {
      wrong.hidden = false;
    }
  };
  return h(
    "details",
    {
      class: "by-hand",
      open: open || memory.opened,
      ontoggle: ({ target }) => (memory.opened = target.open),
    },
    h("summary", {}, "Write an action"),
    h(
      "form",
      { class: "stack", onsubmit: send },
      h("div", { class: "field" }, h("label", { for: "event" }, "Event"), event),
      h(
        "div",
        { class: "field" },
        h("label", { for: "payload" }, "Payload, in JSON (may be empty)"),
        payload,
        wrong,
      ),
      h("button", { class: "primary" }, "Send"),
    ),
  );
}

/** A value, as a list of what is in it. @param {any} shown */
function value(shown) {
  if (Array.isArray(shown)) {
    if (shown.every((part) => typeof part !== "object" || part === null)) {
      return h(
        "span",
        { class: "mono" },
        shown.length ? shown.map((part) => plain(part)).join(", ") : "none",
      );
    }
    return h(
      "ol",
      { start: 0 },
      shown.map((part) => h("li", {}, value(part))),
    );
  }
  if (typeof shown === "object" && shown !== null) {
    return h(
      "dl",
      {},
      Object.entries(shown).map(([name, part]) => [
        h("dt", {}, words(name)),
        h("dd", {}, value(part)),
      ]),
    );
  }
  return h("span", { class: "mono" }, plain(shown));
}

function plain(part) {
  if (part === null) return "–";
  return typeof part === "object" ? canonical(part) : String(part);
}

function brief(payload) {
  if (typeof payload !== "object" || payload === null) return plain(payload);
  const parts = Array.isArray(payload)
    ? payload.map(plain)
    : Object.entries(payload).map(
        ([name, part]) => `${words(name).toLowerCase()} ${plain(part)}`,
      );
  return parts.join(", ");
}

/** `someName` and `some_name` as words. */
function words(name) {
  const spaced = name
    .replace(/([a-z])([A-Z])/g, "$1 $2")
    .replace(/[_-]+/g, " ")
    .toLowerCase();
  return spaced.charAt(0).toUpperCase() + spaced.slice(1);
}
