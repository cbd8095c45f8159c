// What a tab remembers over a reload, and no longer than the tab is open; and what all
// tabs of a browser know, which is nothing that lets anybody in.

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

/** What any tab has kept. @param {string} key @returns {any} null if there is nothing */
export function recallShared(key) {
  try {
    return JSON.parse(localStorage.getItem(PREFIX + key) ?? "null");
  } catch {
    return null; // as above
  }
}

/** @param {string} key @param {any} value */
export function share(key, value) {
  try {
    localStorage.setItem(PREFIX + key, JSON.stringify(value));
  } catch {
    // full or forbidden: other tabs do without
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
