// Who has come: the token in the address's fragment, which no server is told.

/**
 * @typedef {object} Claims
 * @property {"seat" | "session" | "spectator" | "operator" | "guest" | "invite"} kind
 * @property {string} [match]
 * @property {number} [epoch]
 * @property {string} [seat]
 * @property {number} [session]
 * @property {string} [sub]
 * @property {string} [name]
 * @property {string} [scope]
 * @property {number} exp seconds since 1970
 * @property {number} [iat] when it was made
 */

/** The token of this page; "" if there is none. */
export function tokenHere() {
  return fragment().get("t") ?? "";
}

/** Another part of the fragment. @param {string} name */
export function partHere(name) {
  return fragment().get(name) ?? "";
}

/**
 * The address of a page with that token, to be shared or gone to.
 * @param {string} token
 * @param {Record<string, string>} [more] @param {string} [path]
 */
export function address(token, more = {}, path = location.pathname) {
  const parts = new URLSearchParams({ t: token, ...more });
  return `${location.origin}${path}#${parts}`;
}

/** Make this page that of another token, and show it. @param {string} token */
export function become(token, more = {}) {
  history.replaceState(null, "", address(token, more));
  dispatchEvent(new Event("hotseat:become"));
}

/**
 * Have the address carry a newer token for what it shows, so that a reload or a bookmark
 * lasts. @param {string} old @param {string} token
 */
export function renew(old, token) {
  const parts = fragment();
  if (parts.get("t") !== old) return; // it shows something else by now
  parts.set("t", token);
  history.replaceState(null, "", `${location.pathname}${location.search}#${parts}`);
}

/**
 * What a token says of itself. It is not checked: the gateway does that.
 * @param {string} token
 * @returns {Claims | null}
 */
export function claimsOf(token) {
  const part = token.split(".")[1];
  if (!part) return null;
  try {
    const bytes = atob(part.replaceAll("-", "+").replaceAll("_", "/"));
    const text = new TextDecoder().decode(
      Uint8Array.from(bytes, (c) => c.charCodeAt(0)),
    );
    const claims = JSON.parse(text);
    return typeof claims === "object" && claims !== null ? claims : null;
  } catch {
    return null; // not a token
  }
}

function fragment() {
  return new URLSearchParams(location.hash.slice(1));
}
