// A table before the match: who sits where, who is ready, and the link for the others.

import { copyField } from "./copy.js";
import { h, redraw } from "./dom.js";
import { gameIcon } from "./game_icon.js";
import { linkChip } from "./match_banners.js";
import { LobbyConnection } from "./lobby_connection.js";
import { remember } from "./memory.js";
import { keepNames } from "./names.js";
import { gameTitle } from "./outcome.js";
import { say } from "./said.js";
import { seatRow } from "./lobby_seats.js";
import { settingsFields } from "./settings.js";
import { become, claimsOf } from "./token.js";
import { showTrouble } from "./trouble.js";

/** @param {HTMLElement} main @param {string} token @returns {() => void} */
export function showLobby(main, token) {
  const page = new LobbyPage(main, token);
  return () => page.connection.close();
}

class LobbyPage {
  constructor(main, token) {
    this.main = main;
    this.welcome = /** @type {any} */ (null);
    this.room = /** @type {any} */ (null);
    this.problem = "";
    this.me = claimsOf(token)?.sub ?? "";
    redraw(main, h("p", { class: "muted" }, "Coming to the table …"));
    this.connection = new LobbyConnection(token, {
      message: (message) => this.hear(message),
      link: (link, why) => this.linked(link, why),
    });
  }

  hear(message) {
    const { type } = message;
    if (type === "lobby:welcome") this.welcome = message;
    else if (type === "lobby:state") this.stands(message);
    else if (type === "lobby:rejected") this.rejected(message);
    else if (type === "lobby:closed") this.closed();
    else if (type === "lobby:transition_to_game" || type === "lobby:watch_game")
      this.begins(message);
  }

  linked(link, why) {
    if (link === "refused" && !this.over) {
      if (why === "closed") this.closed();
      else showTrouble(this.main, why || "failed");
    } else if (!this.over) this.draw();
  }

  stands(room) {
    if (this.room) sayChanges(this.room, room, this.me);
    this.room = room;
    this.draw();
  }

  rejected(message) {
    this.problem = message.message ?? REASONS[message.reason] ?? message.reason;
    say(this.problem);
    this.draw();
  }

  closed() {
    this.over = true;
    this.connection.close();
    showTrouble(this.main, "closed");
  }

  /** The match stands: go there, and keep who sits where. */
  begins(message) {
    this.over = true;
    const names = {};
    for (const { seatIndex, playerID } of message.playerAssignments) {
      const seat = this.room?.seats.find((one) => one.seatIndex === seatIndex);
      const name = seat?.kind === "human" ? seat.userName : seat?.label;
      if (name) names[playerID] = name;
    }
    keepNames(message.roomID, names);
    remember(`invite/${message.roomID}`, this.welcome?.invite?.page);
    say("The match begins.");
    become(message.roomToken, { game: this.welcome?.game ?? "" });
  }

  get hosting() {
    return this.room?.hostUserID === this.me;
  }

  say(type, more) {
    this.problem = "";
    this.connection.say(type, more);
  }

  draw() {
    const { room, welcome } = this;
    redraw(
      /** @type {HTMLElement} */ (document.getElementById("link")),
      linkChip(this.connection.link, null),
    );
    if (!room || !welcome) return;
    const title = gameTitle(welcome.game);
    document.title = `Table for ${title} · hotseat`;
    const mine = room.seats.find(
      (seat) => seat.kind === "human" && seat.userID === this.me,
    );
    redraw(
      this.main,
      h(
        "div",
        { class: "lobby stack" },
        h("div", { class: "row" }, gameIcon(welcome.game), h("h1", {}, title)),
        this.connection.link === "stale" &&
          h("p", { class: "banner warn" }, "Reconnecting to the table."),
        this.problem && h("p", { class: "banner bad" }, this.problem),
        h(
          "div",
          { class: "table" },
          h(
            "section",
            { class: "card stack", "aria-label": "Seats" },
            h(
              "div",
              { class: "row spread" },
              h("h2", {}, "Seats"),
              h(
                "span",
                { class: "muted small" },
                this.hosting ? "You are the host" : "",
              ),
            ),
            h(
              "ul",
              { class: "places stack tight" },
              room.seats.map((seat) => seatRow(seat, this, mine)),
            ),
            this.actions(mine),
          ),
          h("aside", { class: "stack side" }, this.invite(), this.settings()),
        ),
      ),
    );
  }

  actions(mine) {
    const { room } = this;
    const starting = room.phase !== "lobby";
    const button = (key, look, text, type, more, off = false) =>
      h(
        "button",
        {
          type: "button",
          class: look,
          "data-key": key,
          disabled: off || starting,
          onclick: () => this.say(type, more),
        },
        text,
      );
    return h(
      "div",
      { class: "stack tight" },
      h(
        "div",
        { class: "choices" },
        mine &&
          button(
            "ready",
            mine.ready || this.hosting ? "" : "primary",
            mine.ready ? "Not ready after all" : "I am ready",
            "set_ready",
            { ready: !mine.ready },
          ),
        this.hosting &&
          button(
            "start",
            room.canStart ? "primary" : "",
            starting ? "Starting …" : "Start the match",
            "start",
            {},
            !room.canStart,
          ),
        this.hosting && button("close", "quiet", "Close the table", "close", {}),
      ),
      h("p", { class: "muted small" }, this.waitsFor()),
    );
  }

  /** What is missing before it can start. */
  waitsFor() {
    const { room } = this;
    if (room.phase === "starting") return "The match is being opened.";
    if (room.canStart) return this.hosting ? "All is set." : "The host may start now.";
    const taken = room.seats.filter(({ kind }) => kind !== "open");
    const humans = taken.filter(({ kind }) => kind === "human");
    const missing = room.minPlayers - taken.length;
    if (!humans.length) return "Take a seat to begin.";
    if (missing > 0)
      return `${missing === 1 ? "One more player is" : `${missing} more players are`} needed.`;
    // To start is the host's way to be ready.
    const late = humans.filter(
      ({ ready, userID }) => !ready && userID !== room.hostUserID,
    );
    if (late.length)
      return `Waiting until all are ready: ${late.map((seat) => this.nameOf(seat)).join(", ")}.`;
    return "";
  }

  nameOf(seat) {
    if (seat.kind === "bot") return seat.label;
    return seat.userName ?? (seat.userID === this.me ? "You" : "A guest");
  }

  invite() {
    const page = this.welcome.invite?.page;
    return (
      page &&
      h(
        "section",
        { class: "card stack tight" },
        h("h2", {}, "Invite"),
        h("p", { class: "muted small" }, "Whoever has this link can join or watch."),
        copyField(page, "Link that invites to this table"),
      )
    );
  }

  settings() {
    const { room, welcome } = this;
    const fields = welcome.configFields ?? {};
    const change = this.hosting
      ? (key, value) => this.say("set_config", { key, value })
      : null;
    const sized = room.maxPlayers > room.minPlayers;
    if (!sized && !Object.keys(fields).length) return null;
    return h(
      "section",
      { class: "card stack" },
      h("h2", {}, "Settings"),
      sized && this.size(room),
      settingsFields(fields, room.config?.values ?? {}, change),
    );
  }

  size(room) {
    const step = (by, sign, label) => {
      const next = room.targetCapacity + by;
      const off = !this.hosting || next < room.minPlayers || next > room.maxPlayers;
      return h(
        "button",
        {
          type: "button",
          class: "compact",
          "data-key": `size/${by}`,
          "aria-label": label,
          disabled: off,
          onclick: () => this.say("set_target_capacity", { targetCapacity: next }),
        },
        sign,
      );
    };
    return h(
      "div",
      { class: "row spread" },
      h("span", {}, "Seats"),
      h(
        "span",
        { class: "row" },
        step(-1, "−", "One seat less"),
        h("strong", { class: "number" }, room.targetCapacity),
        step(1, "+", "One seat more"),
      ),
    );
  }
}

/** Say who came and went. */
function sayChanges(before, after, me) {
  for (const seat of after.seats) {
    const old = before.seats.find(({ seatIndex }) => seatIndex === seat.seatIndex);
    const name = seat.userName ?? seat.label ?? "A guest";
    const place = `seat ${seat.seatIndex + 1}`;
    if (seat.kind !== "open" && old?.kind === "open" && seat.userID !== me)
      say(`${name} takes ${place}.`);
    if (seat.kind === "open" && old && old.kind !== "open")
      say(`${old.userName ?? old.label ?? "Somebody"} leaves ${place}.`);
    if (
      seat.kind === "human" &&
      old?.userID === seat.userID &&
      seat.ready &&
      !old.ready
    )
      say(`${name} is ready.`);
  }
  if (after.canStart && !before.canStart) say("The match can start.");
}

/** Why the table says no. */
const REASONS = {
  seat_taken: "Somebody else has just taken that seat.",
  seat_out_of_range: "There is no such seat any more.",
  not_seated: "Take a seat first.",
  already_seated: "You sit already.",
  not_host: "Only the host may do that.",
  not_ready: "Not everybody is ready.",
  below_min_players: "More players are needed.",
  no_humans_seated: "Somebody has to sit down first.",
  bad_phase: "It is too late for that: the match is being opened.",
  room_closed: "The table is closed.",
  seat_has_bot: "A bot sits there.",
  seat_has_human: "Somebody sits there.",
  unknown_bot: "There is no such bot.",
  target_below_min: "The game needs more seats.",
  target_above_max: "The game has not so many seats.",
  bad_target: "More people sit than that.",
  invalid_config_value: "That setting is not possible.",
  unknown: "That did not work.",
};
