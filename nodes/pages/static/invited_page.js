// Somebody with an invite link: say a name, and sit down at the table.

import { get, post } from "./api.js";
import { h, redraw } from "./dom.js";
import { gameIcon } from "./game_icon.js";
import { gameTitle } from "./outcome.js";
import { recall, remember } from "./memory.js";
import { become, claimsOf } from "./token.js";
import { showTrouble } from "./trouble.js";

/** @param {HTMLElement} main @param {string} token of an invitation */
export function showInvited(main, token) {
  const name = h("input", {
    id: "name",
    name: "name",
    maxlength: 40,
    autocomplete: "nickname",
    placeholder: "As the others shall see it",
    value: recall("name") ?? "",
    "data-key": "name",
  });
  const button = h("button", { class: "primary big" }, "Join the table");
  const join = async (event) => {
    event?.preventDefault();
    button.disabled = true;
    remember("name", name.value.trim());
    const asked = name.value.trim() ? { name: name.value.trim() } : {};
    try {
      const { user } = await post(
        `/api/lobbies/${claimsOf(token)?.match}/guests`,
        asked,
        token,
      );
      become(user.token);
    } catch (error) {
      const again =
        error.status === 0 || error.status >= 429
          ? () => showInvited(main, token)
          : undefined;
      showTrouble(main, error.code, error.message, again);
    }
  };
  const title = h("h1", {}, "You are invited");
  const form = h(
    "form",
    { class: "trouble card stack", onsubmit: join },
    title,
    h("div", { class: "field" }, h("label", { for: "name" }, "Your name"), name),
    button,
  );
  document.title = "You are invited · hotseat";
  redraw(main, form);
  name.focus();
  tellGame(main, token, form, title);
}

/** Say which game it is, once that is known. */
async function tellGame(main, token, form, title) {
  try {
    const lobby = await get(`/api/lobbies/${claimsOf(token)?.match}`, token);
    if (!form.isConnected) return; // who was invited has gone on
    if (lobby.phase === "closed") showTrouble(main, "closed");
    title.textContent = `You are invited to ${gameTitle(lobby.game)}`;
    form.prepend(gameIcon(lobby.game));
  } catch (error) {
    // Without an answer one may try to join all the same.
    if (form.isConnected && error.status) showTrouble(main, error.code, error.message);
  }
}
