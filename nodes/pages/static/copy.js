// A text with a button that copies it.

import { h } from "./dom.js";
import { say } from "./said.js";

const SHOWN_MS = 2000;

/** @param {string} text @param {string} label */
export function copyField(text, label) {
  const field = h("input", {
    readonly: true,
    value: text,
    "aria-label": label,
    "data-key": "copied",
    onfocus: () => field.select(),
  });
  const button = h(
    "button",
    {
      type: "button",
      class: "primary",
      "data-key": "copy",
      onclick: async () => {
        await copy(text, field);
        button.textContent = "Copied";
        say("The link is copied.");
        setTimeout(() => (button.textContent = "Copy"), SHOWN_MS);
      },
    },
    "Copy",
  );
  return h("div", { class: "copy" }, field, button);
}

async function copy(text, field) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    field.select(); // without TLS there is no clipboard: the old way, or by hand
    document.execCommand("copy");
  }
}
