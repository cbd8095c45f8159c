// What is said to those who listen instead of look: one polite voice for the page.

const voice = /** @type {HTMLElement} */ (document.getElementById("said"));
let waiting = /** @type {string[]} */ ([]);

/** Say a sentence. What comes at once is said together. @param {string} text */
export function say(text) {
  if (!text) return;
  if (!waiting.length) {
    queueMicrotask(() => {
      voice.textContent = waiting.join(" ");
      waiting = [];
    });
  }
  if (!waiting.includes(text)) waiting.push(text);
}
