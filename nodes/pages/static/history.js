// What has happened, newest last: each entry leads to its moment.

import { h } from "./dom.js";
import { told } from "./outcome.js";

/**
 * @param {import("./match_state.js").Frame[]} frames
 * @param {number} shown which frame is looked at
 * @param {import("./boards/boards.js").Board} board
 * @param {import("./names.js").Names} names
 * @param {(frame: number) => void} look
 */
export function historyList(frames, shown, board, names, look) {
  const entries = frames.map((frame, n) => {
    if (!frame.step)
      return n === 0
        ? entry(n, names, "", opening(frame))
        : entry(n, names, "", "as it stands");
    const { who, what } = told(frame.step, board, names);
    return entry(n, names, who, what, frame.step.event.playerID);
  });
  function entry(n, names, who, what, seat = null) {
    return h(
      "li",
      {},
      h(
        "button",
        {
          type: "button",
          class: "moment",
          "data-key": `moment/${frames[n].snapshot.revision}`,
          "aria-current": n === shown ? "step" : null,
          onclick: () => look(n),
        },
        h("span", { class: "muted number" }, frames[n].snapshot.revision),
        seat !== null && h("span", { class: names.dot(seat) }),
        h("span", {}, who && h("strong", {}, `${who} `), what),
      ),
    );
  }
  return h("ol", { class: "history", "aria-label": "History" }, entries);
}

function opening({ snapshot }) {
  return snapshot.revision === 0 ? "the beginning" : "as you came";
}
