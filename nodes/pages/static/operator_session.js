// An operator's token, for as long as this tab is open; and what it opens.

import { h, redraw } from "./dom.js";
import { ApiError } from "./api.js";
import { claimsOf } from "./token.js";

const KEPT = "hotseat/operator";

/** The token that this tab has; one in the address is taken from there. "" for none. */
export function operatorToken() {
  const parts = new URLSearchParams(location.hash.slice(1));
  const given = parts.get("t");
  if (given !== null) {
    keep(given);
    parts.delete("t"); // who copies the address does not copy the key
    history.replaceState(
      null,
      "",
      `${location.pathname}${parts.size ? `#${parts}` : ""}`,
    );
  }
  return kept();
}

/**
 * Ask the gateway. `tag`: of the answer that is known already; null if it still holds.
 * @param {string} path
 * @param {{body?: BodyInit, tag?: string, signal?: AbortSignal}} [how]
 * @returns {Promise<{said: any, tag: string} | null>}
 */
export async function ask(path, { body, tag, signal } = {}) {
  const headers = new Headers({ authorization: `Bearer ${kept()}` });
  if (tag) headers.set("if-none-match", tag);
  const method = body === undefined ? "GET" : "POST";
  let answer;
  try {
    answer = await fetch(path, { method, headers, body, signal, cache: "no-store" });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new ApiError("unreachable", "The gateway cannot be reached.", 0);
  }
  if (answer.status === 304) return null;
  const said = await answer.json().catch(() => null);
  if (answer.ok && said !== null)
    return { said, tag: answer.headers.get("etag") ?? "" };
  const error = said?.error;
  const message = error?.message ?? `The gateway answered ${answer.status}.`;
  throw new ApiError(error?.code ?? "failed", message, answer.status);
}

/** Whether another token is what is needed. @param {unknown} error */
export function wantsToken(error) {
  return error instanceof ApiError && (error.status === 401 || error.status === 403);
}

/**
 * Ask whoever is here for a token.
 * @param {HTMLElement} main @param {unknown} error why @param {() => void} done
 */
export function askForToken(main, error, done) {
  const refused = error instanceof ApiError && error.code !== "token_missing";
  const field = h("input", {
    id: "token",
    type: "password",
    autocomplete: "off",
    spellcheck: "false",
    required: true,
    "aria-describedby": "token-hint",
  });
  const problem = h("p", { class: "small", role: "alert" });
  const enter = (event) => {
    event.preventDefault();
    const text = field.value.trim();
    if (!claimsOf(text)) {
      problem.textContent = "That is no token. Copy the whole of it.";
      return;
    }
    keep(text);
    done();
  };
  redraw(
    main,
    h(
      "form",
      { class: "card stack token-form", onsubmit: enter },
      h("h1", {}, "For operators"),
      refused &&
        h(
          "p",
          { class: "banner bad", role: "alert" },
          `${error.message} (${error.code})`,
        ),
      h(
        "div",
        { class: "field" },
        h("label", { for: "token" }, "Operator’s token"),
        field,
        h(
          "p",
          { class: "hint", id: "token-hint" },
          "With the scope “inspect”. On a machine of the cluster ",
          h("code", {}, "hotseat token mint --operator NAME"),
          " prints one. It is kept until this tab is closed.",
        ),
      ),
      problem,
      h("div", { class: "row" }, h("button", { class: "primary" }, "Enter")),
    ),
  );
  field.focus();
}

function kept() {
  try {
    return sessionStorage.getItem(KEPT) ?? "";
  } catch {
    return unkept; // storage is forbidden here: as long as the page is shown
  }
}

let unkept = "";

function keep(token) {
  unkept = token;
  try {
    sessionStorage.setItem(KEPT, token);
  } catch {
    // as above
  }
}
