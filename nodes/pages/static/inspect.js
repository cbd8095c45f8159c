// The inspector's page: which match, or which file; then the inspector itself.

import { h, redraw } from "./dom.js";
import { ApiError } from "./api.js";
import { askForToken, operatorToken, wantsToken } from "./operator_session.js";
import { Inspector } from "./inspector.js";
import { Source } from "./inspect_source.js";
import "./skip.js";

const main = /** @type {HTMLElement} */ (document.getElementById("main"));

/** @type {Inspector | null} */
let inspector = null;

addEventListener("hashchange", () => begin());
begin();

async function begin() {
  const token = operatorToken();
  const asked = new URLSearchParams(location.hash.slice(1));
  if (!token) return askForToken(main, null, begin);
  const match = asked.get("m") ?? "";
  if (!match) return chooser();
  if (inspector?.shows(match)) return inspector.goThere(asked);
  await open(() => Promise.resolve(Source.match(match)), asked);
}

/** @param {() => Promise<Source>} make @param {URLSearchParams} asked */
async function open(make, asked) {
  inspector?.close();
  inspector = null;
  redraw(
    main,
    h("p", { class: "muted opening", role: "status" }, "Opening the match…"),
  );
  try {
    const source = await make();
    if (!source.timeline) await source.refresh();
    const graph = await source.graph();
    inspector = new Inspector(main, source, graph, { openFile, close: leave });
    inspector.goThere(asked);
  } catch (error) {
    if (wantsToken(error)) askForToken(main, error, begin);
    else if (error instanceof ApiError) chooser(error);
    else throw error;
  }
}

/** @param {File} file */
function openFile(file) {
  history.replaceState(null, "", location.pathname);
  return open(() => Source.file(file), new URLSearchParams());
}

function leave() {
  inspector?.close();
  inspector = null;
  history.pushState(null, "", location.pathname);
  chooser();
}

/** Ask what to look at. @param {ApiError} [problem] why it is not what was asked for */
function chooser(problem) {
  inspector?.close();
  inspector = null;
  document.title = "Inspector · hotseat";
  const field = h("input", {
    id: "match",
    required: true,
    spellcheck: "false",
    autocomplete: "off",
    placeholder: "26 letters and digits",
    "data-key": "match",
  });
  const enter = (event) => {
    event.preventDefault();
    location.hash = new URLSearchParams({ m: field.value.trim() }).toString();
  };
  const file = h("input", {
    id: "file",
    type: "file",
    accept: ".json,.hotseat,application/json",
    onchange: () => file.files[0] && openFile(file.files[0]),
  });
  const drop = h(
    "section",
    { class: "card stack drop", ondragover, ondragleave, ondrop },
    h("h2", {}, "A file"),
    h(
      "p",
      { class: "muted" },
      "A saved replay, or an exported log. It is played back on the gateway, and not kept.",
    ),
    h(
      "div",
      { class: "field" },
      h("label", { for: "file" }, "Choose a file, or drop it here"),
      file,
    ),
  );
  function ondragover(event) {
    event.preventDefault();
    drop.classList.add("over");
  }
  function ondragleave() {
    drop.classList.remove("over");
  }
  function ondrop(event) {
    event.preventDefault();
    drop.classList.remove("over");
    const dropped = event.dataTransfer?.files[0];
    if (dropped) openFile(dropped);
  }
  redraw(
    main,
    h(
      "div",
      { class: "stack chooser" },
      h(
        "header",
        { class: "stack tight" },
        h("h1", {}, "Look into a match"),
        h(
          "p",
          { class: "muted" },
          "Revision by revision: what happened, which branch answered, why the others did not, what changed, and what each seat could see.",
        ),
      ),
      problem &&
        h(
          "p",
          { class: "banner bad", role: "alert" },
          h("span", {}, problem.message),
          h("code", { class: "small" }, problem.code),
        ),
      h(
        "div",
        { class: "choices" },
        h(
          "form",
          { class: "card stack", onsubmit: enter },
          h("h2", {}, "A match of the cluster"),
          h(
            "p",
            { class: "muted" },
            "One that goes on is followed. It does not notice; that you looked stands in the audit.",
          ),
          h("div", { class: "field" }, h("label", { for: "match" }, "Its id"), field),
          h(
            "div",
            { class: "row" },
            h("button", { class: "primary" }, "Open"),
            h("a", { href: "/cluster#matches" }, "Find it on the cluster page"),
          ),
        ),
        drop,
      ),
    ),
  );
  field.focus({ preventScroll: true });
}
