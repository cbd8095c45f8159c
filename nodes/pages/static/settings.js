// A game's settings, as fields of a form.

import { h } from "./dom.js";

/**
 * @typedef {object} Setting
 * @property {"number" | "boolean" | "enum" | "string"} type
 * @property {any} default
 * @property {number} [min] @property {number} [max]
 * @property {any[]} [options]
 * @property {string} [label]
 */
/**
 * @param {Record<string, Setting>} settings by key
 * @param {Record<string, any>} values
 * @param {((key: string, value: any) => void) | null} change null: only to be seen
 */
export function settingsFields(settings, values, change) {
  return Object.entries(settings).map(([key, setting]) => {
    const id = `setting-${key}`;
    const field = input(id, key, setting, values[key] ?? setting.default, change);
    const label = h("label", { for: id }, setting.label ?? words(key));
    if (setting.type === "boolean") return h("div", { class: "row" }, field, label);
    return h("div", { class: "field" }, label, field, hint(setting));
  });
}

function input(id, key, setting, value, change) {
  const shared = { id, name: key, "data-key": id, disabled: change === null };
  const told =
    (read) =>
    ({ target }) =>
      target.checkValidity() && change?.(key, read(target));
  if (setting.type === "boolean") {
    return h("input", {
      ...shared,
      type: "checkbox",
      checked: value === true,
      onchange: told((field) => field.checked),
    });
  }
  if (setting.options) {
    return h(
      "select",
      { ...shared, onchange: told((field) => setting.options[field.selectedIndex]) },
      setting.options.map((option) =>
        h("option", { selected: option === value }, String(option)),
      ),
    );
  }
  if (setting.type === "number") {
    return h("input", {
      ...shared,
      type: "number",
      min: setting.min,
      max: setting.max,
      step: "any",
      required: true,
      value: String(value ?? ""),
      onchange: told((field) => field.valueAsNumber),
    });
  }
  return h("input", {
    ...shared,
    value: String(value ?? ""),
    onchange: told((field) => field.value),
  });
}

function hint({ min, max }) {
  if (min === undefined && max === undefined) return null;
  const text =
    max === undefined
      ? `At least ${min}`
      : min === undefined
        ? `At most ${max}`
        : `${min} to ${max}`;
  return h("span", { class: "hint" }, text);
}

function words(key) {
  const spaced = key
    .replace(/([a-z])([A-Z])/g, "$1 $2")
    .replace(/[_-]+/g, " ")
    .toLowerCase();
  return spaced.charAt(0).toUpperCase() + spaced.slice(1);
}
