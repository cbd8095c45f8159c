// The play page: which of its parts is shown is said by the token in the address.

import { h, redraw } from "./dom.js";
import { claimsOf, tokenHere } from "./token.js";
import { showHome } from "./home_page.js";
import { showInvited } from "./invited_page.js";
import { showLobby } from "./lobby_page.js";
import { showMatch } from "./match_page.js";
import "./skip.js";
import { showTrouble } from "./trouble.js";

/**
 * A part of the page. It draws itself into `main`, and gives what ends it.
 * @typedef {(main: HTMLElement, token: string) => (() => void) | void} Part
 */
/** @type {Record<string, Part>} by the kind of the token; without one, home */
const PARTS = {
  "": showHome,
  operator: showHome,
  invite: showInvited,
  guest: showLobby,
  seat: showMatch,
  spectator: showMatch,
};

const main = /** @type {HTMLElement} */ (document.getElementById("main"));
let leave = /** @type {(() => void) | void} */ (undefined);

/** Show what the address says now. */
export function route() {
  leave?.();
  leave = undefined;
  redraw(main);
  redraw(/** @type {HTMLElement} */ (document.getElementById("link")));
  document.title = "hotseat";
  const token = tokenHere();
  const kind = token ? claimsOf(token)?.kind : "";
  const part = kind === undefined ? undefined : PARTS[kind];
  if (part) leave = part(main, token);
  else showTrouble(main, "token_malformed");
}

addEventListener("hashchange", route);
addEventListener("hotseat:become", route);
addEventListener("error", () => {
  if (!main.hasChildNodes())
    main.append(h("p", {}, "This page failed. Load it again."));
});
route();
