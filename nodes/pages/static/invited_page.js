// Somebody with an invite link: say a name, and sit down at the table.

import { post } from "./api.js";
import { h, redraw } from "./dom.js";
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
  document.title = "You are invited · hotseat";
  redraw(
    main,
    h(
      "form",
      { class: "trouble card stack", onsubmit: join },
      h("h1", {}, "You are invited to a game"),
      h("div", { class: "field" }, h("label", { for: "name" }, "Your name"), name),
      button,
    ),
  );
  name.focus();
}
