// Home: choose a game, and open a table for it.

import { get, newKey, post } from "./api.js";
import { h, redraw } from "./dom.js";
import { gameIcon } from "./game_icon.js";
import { gameTitle } from "./outcome.js";
import { recall, remember } from "./memory.js";
import { settingsFields } from "./settings.js";
import { become } from "./token.js";
import { showTrouble } from "./trouble.js";

/** Codes by which the gateway says that not everybody may open a table here. */
const CLOSED = new Set(["token_missing", "token_wrong_scope"]);

/** @param {HTMLElement} main @param {string} token of an operator, or "" */
export function showHome(main, token) {
  const page = new HomePage(main, token);
  page.load();
}

class HomePage {
  constructor(main, token) {
    this.main = main;
    this.token = token;
    this.games = /** @type {any[]} */ ([]);
    this.chosen = "";
    this.values = /** @type {Record<string, any>} */ ({});
    this.key = newKey();
    this.opening = false;
    this.problem = "";
  }

  async load() {
    redraw(this.main, h("p", { class: "muted" }, "Looking which games there are …"));
    try {
      const { games } = await get("/api/games", this.token);
      this.games = games;
      this.chosen = this.games[0]?.name ?? "";
      this.draw();
    } catch (error) {
      if (CLOSED.has(error.code)) this.drawClosed();
      else showTrouble(this.main, error.code, error.message, () => this.load());
    }
  }

  get game() {
    return this.games.find(({ name }) => name === this.chosen);
  }

  draw() {
    redraw(
      this.main,
      h(
        "form",
        { class: "home stack", onsubmit: (event) => this.open(event) },
        h(
          "div",
          { class: "welcome stack tight" },
          h("h1", {}, "What shall we play?"),
          h(
            "p",
            { class: "muted" },
            "Choose a game and open a table. You get a link to invite the others.",
          ),
        ),
        h(
          "fieldset",
          { class: "games" },
          h("legend", { class: "unseen" }, "Game"),
          this.games.map((game) => this.tile(game)),
        ),
        this.game ? this.details() : h("p", {}, "No game is installed here."),
      ),
    );
  }

  tile(game) {
    const chosen = game.name === this.chosen;
    return h(
      "label",
      { class: ["tile", chosen && "chosen"] },
      h("input", {
        type: "radio",
        name: "game",
        class: "unseen",
        "data-key": `game/${game.name}`,
        value: game.name,
        checked: chosen,
        onchange: () => this.choose(game.name),
      }),
      gameIcon(game.name),
      h("span", { class: "title" }, gameTitle(game.name)),
      h(
        "span",
        { class: "muted small" },
        playersOf(game),
        game.bots.length > 0 && " · bots",
      ),
    );
  }

  choose(name) {
    this.chosen = name;
    this.values = {};
    this.draw();
    const details = this.main.querySelector(".details");
    details?.scrollIntoView({ block: "nearest" });
  }

  details() {
    const { game } = this;
    const settings = game.config ?? {};
    return h(
      "div",
      { class: "card stack details" },
      h("h2", {}, gameTitle(game.name)),
      h(
        "div",
        { class: "field" },
        h("label", { for: "name" }, "Your name"),
        h("input", {
          id: "name",
          name: "name",
          maxlength: 40,
          autocomplete: "nickname",
          placeholder: "As the others shall see it",
          value: recall("name") ?? "",
          "data-key": "name",
          oninput: ({ target }) => remember("name", target.value),
        }),
      ),
      game.maxPlayers > game.minPlayers && this.capacity(game),
      settingsFields(settings, this.values, (key, value) => {
        this.values[key] = value;
      }),
      this.problem && h("p", { class: "banner bad", role: "alert" }, this.problem),
      h(
        "button",
        { class: "primary big", disabled: this.opening, "data-key": "open" },
        "Open a table",
      ),
    );
  }

  capacity(game) {
    const count = game.maxPlayers - game.minPlayers + 1;
    this.seats = Math.min(
      game.maxPlayers,
      Math.max(game.minPlayers, this.seats ?? game.maxPlayers),
    );
    return h(
      "div",
      { class: "field" },
      h("label", { for: "capacity" }, "Seats"),
      h(
        "select",
        {
          id: "capacity",
          "data-key": "capacity",
          onchange: ({ target }) => (this.seats = Number(target.value)),
        },
        Array.from({ length: count }, (_, n) => game.minPlayers + n).map((n) =>
          h("option", { value: n, selected: n === this.seats }, n),
        ),
      ),
    );
  }

  async open(event) {
    event.preventDefault();
    const { game } = this;
    const name = String(recall("name") ?? "").trim();
    const asked = {
      game: game.name,
      version: game.version,
      ...(name && { name }),
      ...(game.maxPlayers > game.minPlayers && { capacity: this.seats }),
      ...(Object.keys(this.values).length > 0 && { config: this.values }),
    };
    this.opening = true;
    this.problem = "";
    this.draw();
    try {
      const made = await post("/api/lobbies", asked, this.token, this.key);
      become(made.user.token);
    } catch (error) {
      this.opening = false;
      this.problem = error.message;
      // After no answer the same key asks for the same table; else it is another one.
      if (error.code !== "unreachable") this.key = newKey();
      this.draw();
    }
  }

  drawClosed() {
    redraw(
      this.main,
      h(
        "section",
        { class: "trouble card stack" },
        h("h1", {}, "Come by a link"),
        h(
          "p",
          {},
          "To play here you need a link: from whoever invites you to a table, or from whoever runs this place.",
        ),
      ),
    );
  }
}

function playersOf({ minPlayers, maxPlayers }) {
  if (minPlayers === maxPlayers) return `${maxPlayers} players`;
  return `${minPlayers}–${maxPlayers} players`;
}
