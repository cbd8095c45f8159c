// A match: the board, whose turn it is, what has happened, and how the link stands.

import { boardFor } from "./boards/boards.js";
import { get } from "./api.js";
import { Connection } from "./connection.js";
import { Countdown } from "./countdown.js";
import { h, redraw } from "./dom.js";
import { historyList } from "./history.js";
import {
  linkBanner,
  linkChip,
  refusalBanner,
  undoBanner,
  undoText,
} from "./match_banners.js";
import { MatchState, mayAct } from "./match_state.js";
import { matchSide } from "./match_side.js";
import { Names, seatsIn } from "./names.js";
import { gameTitle, mood, standing, told } from "./outcome.js";
import { ReplayBar } from "./replay_bar.js";
import { say } from "./said.js";
import { partHere } from "./token.js";
import { showTrouble } from "./trouble.js";

/** @param {HTMLElement} main @param {string} token @returns {() => void} */
export function showMatch(main, token) {
  const page = new MatchPage(main, token);
  return () => page.close();
}

class MatchPage {
  constructor(main, token) {
    this.main = main;
    this.state = new MatchState();
    this.memory = {};
    this.link = /** @type {import("./connection.js").Link} */ ("connecting");
    /** Which frame is looked at; null: the newest. */
    this.looked = /** @type {number | null} */ (null);
    this.replaying = false;
    this.whole = false;
    this.connection = new Connection(token, {
      message: (message) => this.hear(message),
      link: (link, why) => this.linked(link, why),
    });
    this.names = new Names(this.connection.match, this.connection.player);
    this.countdown = new Countdown(() => this.connection.serverNow());
    this.replay = new ReplayBar({
      count: () => this.state.frames.length,
      shown: () => this.shown,
      look: (frame) => this.look(frame),
    });
    this.parts = {
      banners: h("div", { class: "banners stack tight" }),
      turn: h("div", { class: "turn" }),
      board: h("div", { class: "board", tabindex: -1 }),
      replay: h("div", {}),
      side: h("div", { class: "stack" }),
      history: h("div", { class: "history-box" }),
    };
    this.title = h("h1", { class: "unseen" }, "Match");
    redraw(main, this.frame());
    this.draw();
  }

  close() {
    this.connection.close();
    this.countdown.close();
    this.replay.close();
  }

  /** The number of the frame that is looked at. */
  get shown() {
    return Math.min(this.looked ?? Infinity, this.state.frames.length - 1);
  }

  get board() {
    const view = this.state.newest?.G;
    return boardFor(this.state.game || partHere("game"), view);
  }

  hear(message) {
    const { state } = this;
    const before = state.newest;
    const steps = state.hear(message);
    if (state.pending && !this.connection.waits(state.pending.id)) state.forgotten();
    if (state.newest) {
      this.names.inOrder(this.seats(state.newest));
      this.names.look(this.board.looks?.(state.newest.G) ?? {});
    }
    if (message.type === "action_rejected") say(this.why(state.refusal));
    else if (steps.length || before?.revision !== state.newest?.revision)
      this.announce(before ? steps : []);
    const asked = state.newest?.undo;
    if (asked && asked.revision !== before?.undo?.revision) {
      say(undoText(asked, this.names));
    }
    this.draw();
  }

  linked(link, why) {
    this.link = link;
    if (link === "closed") return;
    if (link === "refused" && !this.state.newest) {
      this.close();
      showTrouble(this.main, why);
      return;
    }
    this.waits = WAITS[why];
    if (link === "stale") say("The connection is being mended.");
    if (link === "replaced") say("This seat is played in another window.");
    if (link === "refused") this.refused = why;
    this.draw();
  }

  act(event, payload = null) {
    const base = this.state.newest?.revision;
    const id = this.connection.act(event, payload, base);
    this.state.asked({ id, event, payload });
    this.draw();
  }

  undo(verb) {
    const id = this.connection.undo(verb, this.state.newest?.revision);
    this.state.asked({ id, event: "undo", payload: verb });
    this.draw();
  }

  look(frame) {
    this.looked =
      frame >= this.state.frames.length - 1 && !this.replaying ? null : frame;
    this.draw();
  }

  /** Show the whole match from its beginning, as far as it is kept. */
  async watchReplay() {
    this.replaying = true;
    if (!this.whole && this.state.frames[0]?.snapshot.revision !== 0)
      await this.fetchWhole();
    this.replay.play();
  }

  async fetchWhole() {
    try {
      this.state.take(
        await get(`/api/matches/${this.connection.match}/film`, this.connection.token),
      );
      this.whole = true;
    } catch {
      // what was seen here is shown instead
    }
  }

  seats(snapshot) {
    if (this.state.seats.length) return this.state.seats;
    return seatsIn(snapshot.G, snapshot.derived.activePlayers);
  }

  /** Say what happened, and whose turn it is. */
  announce(steps) {
    const { newest } = this.state;
    const done = steps
      .filter((step) => step.event.playerID !== this.names.me)
      .map((step) => told(step, this.board, this.names))
      .map(({ who, what }) => `${who} ${what}.`.trim());
    say([...done, `${standing(newest, this.names)}.`].join(" "));
  }

  why(refusal) {
    if (!refusal) return "";
    return (
      this.board.reasons?.[refusal.reason] ??
      REASONS[refusal.code] ??
      refusal.text ??
      refusal.code
    );
  }

  frame() {
    const { parts } = this;
    return h(
      "div",
      { class: "match" },
      this.title,
      parts.banners,
      h(
        "div",
        { class: "table" },
        h(
          "section",
          { class: "play card stack", "aria-label": "Board" },
          parts.turn,
          parts.board,
          parts.replay,
        ),
        h(
          "aside",
          { class: "side stack" },
          parts.side,
          h(
            "section",
            { class: "card stack tight" },
            h("h2", {}, "History"),
            parts.history,
          ),
        ),
      ),
    );
  }

  draw() {
    const { parts, state, names } = this;
    redraw(
      /** @type {HTMLElement} */ (document.getElementById("link")),
      linkChip(this.link, this.connection.roundTripMs),
    );
    redraw(
      parts.banners,
      linkBanner(this.link, this.refused, () => this.connection.playHere()),
      refusalBanner(this.why(state.refusal), () => {
        state.refusal = null;
        this.draw();
      }),
      undoBanner(state.newest, names, (verb) => this.undo(verb)),
    );
    if (!state.newest) {
      redraw(parts.turn, h("p", { class: "muted" }, this.waits ?? "Connecting …"));
      return;
    }
    const frame = state.frames[this.shown];
    const live = frame.snapshot === state.newest;
    this.drawTurn(frame.snapshot, live);
    this.drawBoard(frame, live);
    redraw(
      parts.replay,
      (this.replaying || this.looked !== null) && this.replay.draw(),
    );
    redraw(parts.side, matchSide(frame.snapshot, this));
    this.drawHistory();
  }

  drawTurn(snapshot, live) {
    const { names } = this;
    const ended = snapshot.result !== null;
    const mine = !ended && mayAct(snapshot, names.me);
    const text = standing(snapshot, names);
    this.title.textContent = `${this.gameName()}: ${text}`;
    document.title = live ? `${text} · ${this.gameName()}` : this.gameName();
    const deadline = ended || !live ? null : snapshot.derived.controlMeta.deadline;
    this.countdown.set(deadline, mine);
    redraw(
      this.parts.turn,
      h(
        "p",
        {
          class: [
            "whose",
            mine && live && "mine",
            ended && mood(snapshot.result, names.me),
          ],
        },
        !ended &&
          h("span", {
            class: names.dot(snapshot.derived.activePlayers[0] ?? ""),
          }),
        live ? text : `Step ${snapshot.revision}: ${text}`,
      ),
      this.countdown.element,
      !live &&
        !this.replaying &&
        h(
          "button",
          { class: "compact", "data-key": "now", onclick: () => this.look(Infinity) },
          "Back to now",
        ),
    );
  }

  drawBoard({ snapshot, step }, live) {
    const { parts, state, names } = this;
    const current = this.link === "current";
    const open =
      live &&
      current &&
      state.pending === null &&
      !state.ended &&
      mayAct(snapshot, names.me);
    parts.board.classList.toggle("stale", live && !current && !state.ended);
    parts.board.setAttribute("aria-busy", String(live && !current && !state.ended));
    const scene = {
      view: snapshot.G,
      snapshot,
      step,
      seat: names.me,
      open,
      pending: live ? state.pending : null,
      names,
      memory: this.memory,
      act: (event, payload) => this.act(event, payload),
      redraw: () => this.draw(),
    };
    const drawn = this.board.draw(scene);
    redraw(
      parts.board,
      h("div", { class: `scene ${this.board.game || "form"}-scene` }, drawn),
    );
  }

  drawHistory() {
    const { parts, state } = this;
    const atEnd =
      parts.history.scrollHeight -
        parts.history.scrollTop -
        parts.history.clientHeight <
      40;
    const top = parts.history.scrollTop;
    redraw(
      parts.history,
      historyList(state.frames, this.shown, this.board, this.names, (frame) =>
        this.look(frame),
      ),
    );
    parts.history.scrollTop = atEnd ? parts.history.scrollHeight : top;
  }

  gameName() {
    return gameTitle(this.state.game || partHere("game") || this.board.game || "match");
  }
}

/** Why there is nothing to see yet. */
const WAITS = {
  rate_limited: "Too many tries from here. Trying again in a minute …",
  unreachable: "Nobody answers yet. Trying again …",
};

/** Of refusals that any game may have. */
const REASONS = {
  busy: "That was too fast. Try again.",
  game_over: "The match is over.",
  inactive_player: "It is not your turn.",
  invalid_event: "That cannot be done now.",
  invalid_payload: "That is not what the game expects.",
  stale_revision: "The match had moved on. Look again.",
  undo_declined: "That was declined. You may ask again after the next move.",
  nothing_to_undo: "There is nothing to take back.",
};
