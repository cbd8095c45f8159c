// A text with a button that copies it, or the button alone.

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
  return h("div", { class: "copy" }, field, copyButton(text, "Copy", "primary"));
}

/** The button alone. @param {string} text @param {string} label @param {string} [look] */
export function copyButton(text, label, look = "compact") {
  const button = h(
    "button",
    {
      type: "button",
      class: look,
      "data-key": "copy",
      onclick: async () => {
        await copy(text);
        button.textContent = "Copied";
        say("The link is copied.");
        setTimeout(() => (button.textContent = label), SHOWN_MS);
      },
    },
    label,
  );
  return button;
}

async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // Without TLS there is no clipboard: the old way.
    const field = h("textarea", { class: "unseen" }, text);
    document.body.append(field);
    field.select();
    document.execCommand("copy");
    field.remove();
  }
}
