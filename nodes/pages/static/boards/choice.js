// A button that acts.

import { h } from "../dom.js";
import { canonical } from "../match_state.js";

/**
 * @param {import("./boards.js").Scene} scene
 * @param {string} event @param {any} payload @param {any} content
 * @param {string} [look] of the button @param {string} [label] if the content is no text
 */
export function choice(scene, event, payload, content, look = "", label) {
  const { pending } = scene;
  const asked =
    pending?.event === event && canonical(pending.payload) === canonical(payload);
  return h(
    "button",
    {
      type: "button",
      class: [look, asked && "asked"],
      "data-key": `choice/${event}/${canonical(payload)}`,
      "aria-label": label,
      // not `disabled`: that would take the focus away from who acts by keys
      "aria-disabled": scene.open ? null : "true",
      onclick: scene.open ? () => scene.act(event, payload) : null,
    },
    content,
  );
}
