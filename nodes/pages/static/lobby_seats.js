// One seat of a table: who sits there, and what may be done about it.

import { h } from "./dom.js";

/**
 * @param {any} seat as the table tells it
 * @param {any} page the lobby's
 * @param {any} mine the own seat, if any
 */
export function seatRow(seat, page, mine) {
  const { room, welcome } = page;
  const open = room.phase === "lobby";
  const own = seat.kind === "human" && seat.userID === page.me;
  const label = seatLabel(welcome.seatIDs?.[seat.seatIndex], seat.seatIndex);
  return h(
    "li",
    { class: ["place", seat.kind, own && "own"] },
    h("span", { class: `dot seat-${seat.seatIndex % 6}` }),
    h(
      "span",
      { class: "who" },
      h("span", { class: "muted small" }, label),
      occupant(seat, page, own),
    ),
    h("span", { class: "row marks" }, marks(seat, room)),
    open && h("span", { class: "row doings" }, doings(seat, page, own, mine, label)),
  );
}

function occupant(seat, page, own) {
  if (seat.kind === "open") return h("span", { class: "muted" }, "Open");
  return h("strong", {}, page.nameOf(seat), own && seat.userName && " (you)");
}

function marks(seat, room) {
  if (seat.kind === "bot") return h("span", { class: "chip" }, "bot");
  if (seat.kind !== "human") return null;
  const hosts = seat.userID === room.hostUserID;
  return [
    !seat.connected && h("span", { class: "chip warn" }, "away"),
    hosts && h("span", { class: "chip" }, "host"),
    (seat.ready || !hosts) &&
      h(
        "span",
        { class: ["chip", seat.ready && "good"] },
        seat.ready ? "ready" : "not ready",
      ),
  ];
}

function doings(seat, page, own, mine, label) {
  const { seatIndex } = seat;
  const button = (key, text, type, more, look = "compact") =>
    h(
      "button",
      {
        type: "button",
        class: look,
        "data-key": `${key}/${seatIndex}`,
        "aria-label": `${text}: ${label}`,
        onclick: () => page.say(type, more),
      },
      text,
    );
  if (own) return button("leave", "Leave", "leave_seat", {});
  if (seat.kind === "open") {
    return [
      !mine &&
        button("take", "Take this seat", "take_seat", { seatIndex }, "compact primary"),
      page.hosting && bots(seat, page, label),
    ];
  }
  return (
    page.hosting &&
    button("clear", seat.kind === "bot" ? "Remove" : "Free the seat", "clear_seat", {
      seatIndex,
    })
  );
}

/** Which bot shall sit there. */
function bots({ seatIndex }, page, label) {
  const offered = page.room.availableBots;
  if (!offered.length) return null;
  const list = h(
    "select",
    {
      class: "compact",
      "data-key": `bot/${seatIndex}`,
      "aria-label": `A bot for ${label}`,
      onchange: ({ target }) =>
        target.value && page.say("assign_bot", { seatIndex, botID: target.value }),
    },
    h("option", { value: "" }, "Add a bot …"),
    offered.map(({ botID, label: name, difficulty }) =>
      h("option", { value: botID }, difficulty ? `${name} (${difficulty})` : name),
    ),
  );
  return list;
}

function seatLabel(player, index) {
  if (player === undefined || /^\d+$/.test(player)) return `Seat ${index + 1}`;
  return player.charAt(0).toUpperCase() + player.slice(1);
}
