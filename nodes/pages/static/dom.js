// Elements, made and replaced. No text ever becomes markup.

/** @typedef {string | number | Node | null | undefined | false} Child */

const SVG = "http://www.w3.org/2000/svg";

/**
 * An HTML element. Of the properties, `on...` are listeners, `class` may be a list with
 * false ones in it, true and false set and leave out an attribute, `style` is an object.
 * @param {string} tag
 * @param {Record<string, any>} [props]
 * @param {...(Child | Child[])} children
 * @returns {any}
 */
export function h(tag, props = {}, ...children) {
  return dressed(document.createElement(tag), props, children);
}

/** The same for SVG. @returns {any} */
export function s(tag, props = {}, ...children) {
  return dressed(document.createElementNS(SVG, tag), props, children);
}

function dressed(element, props, children) {
  for (const [name, value] of Object.entries(props ?? {})) {
    if (value === false || value === null || value === undefined) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "class" && Array.isArray(value))
      element.setAttribute("class", value.filter(Boolean).join(" "));
    else if (name === "style")
      for (const [key, part] of Object.entries(value))
        element.style.setProperty(key, part);
    else if (name === "value") element.value = value;
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...nodes(children));
  return element;
}

function nodes(children) {
  return children
    .flat(Infinity)
    .filter((child) => child !== null && child !== undefined && child !== false)
    .map((child) => (child instanceof Node ? child : String(child)));
}

/**
 * Show something else in a place. The focus stays on the element of the same `data-key`,
 * or else on the place itself, if that can have it: whoever uses a keyboard is not thrown
 * back to the top.
 * @param {Element} place
 * @param {...(Child | Child[])} children
 */
export function redraw(place, ...children) {
  const held = place.contains(document.activeElement) ? document.activeElement : null;
  const key = held?.closest("[data-key]")?.getAttribute("data-key");
  place.replaceChildren(...nodes(children));
  if (!held) return;
  const again = key ? place.querySelector(`[data-key="${CSS.escape(key)}"]`) : null;
  const usable = again instanceof HTMLElement && !again.hasAttribute("disabled");
  const next = usable ? again : place;
  if (next instanceof HTMLElement) next.focus({ preventScroll: true });
}
