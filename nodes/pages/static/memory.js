// What a tab remembers over a reload, and no longer than the tab is open.

const PREFIX = "hotseat/";

/** @param {string} key @returns {any} null if there is nothing */
export function recall(key) {
  try {
    return JSON.parse(sessionStorage.getItem(PREFIX + key) ?? "null");
  } catch {
    return null; // it may be forbidden, or another page's
  }
}

/** @param {string} key @param {any} value */
export function remember(key, value) {
  try {
    sessionStorage.setItem(PREFIX + key, JSON.stringify(value));
  } catch {
    // full or forbidden: a reload will begin anew
  }
}

/** @param {string} key */
export function forget(key) {
  try {
    sessionStorage.removeItem(PREFIX + key);
  } catch {
    // forbidden: there was nothing
  }
}
