// The cluster's page: looks at the cluster again and again, and shows what it sees.

import { h, redraw } from "./dom.js";
import { ApiError } from "./api.js";
import { ask, askForToken, operatorToken, wantsToken } from "./operator_session.js";
import { Finder } from "./cluster_find.js";
import {
  alarmsPanel,
  hottestPanel,
  nodesPanel,
  operationsPanel,
} from "./cluster_panels.js";
import { shardsPanel } from "./cluster_shards.js";
import { Tiles } from "./cluster_tiles.js";
import { say } from "./said.js";
import "./skip.js";

const POLL_MS = 1500; // between two looks, while anybody looks

const main = /** @type {HTMLElement} */ (document.getElementById("main"));

let tag = "";
let timer = 0;
let seen = /** @type {any} */ (null);
let places = /** @type {any} */ (null);
let alarmed = "";
let drawn = true; // false: what is being copied stays for now

document.addEventListener(
  "visibilitychange",
  () => !document.hidden && places && look(),
);
begin();

function begin() {
  if (!operatorToken()) return askForToken(main, null, begin);
  build();
  look();
}

function build() {
  const section = (id, title, place) =>
    h(
      "section",
      { class: "card panel", id, "aria-labelledby": `${id}-title` },
      h("h2", { id: `${id}-title` }, title),
      place,
    );
  const place = () => h("div", {});
  const tiles = new Tiles();
  tag = "";
  places = {
    tiles,
    banner: h("div", { role: "alert" }),
    when: h("p", { class: "muted small number" }),
    name: h("h1", {}),
    alarms: place(),
    nodes: place(),
    shards: place(),
    hottest: place(),
    operations: place(),
  };
  redraw(
    main,
    h(
      "div",
      { class: "cluster" },
      h("header", { class: "row spread" }, places.name, places.when),
      places.banner,
      tiles.element,
      places.alarms,
      section("nodes", "Nodes", places.nodes),
      h(
        "div",
        { class: "halves" },
        section("shards", "Shards", places.shards),
        section("hottest", "Played most, now", places.hottest),
      ),
      section("matches", "Find matches", new Finder().element),
      section("operations", "What operators did", places.operations),
    ),
  );
  if (location.hash === "#matches")
    document.getElementById("matches")?.scrollIntoView();
}

async function look() {
  clearTimeout(timer);
  if (document.hidden) return;
  try {
    const answer = await ask("/api/cluster", { tag });
    redraw(places.banner);
    if (answer) {
      ({ tag, said: seen } = answer);
      drawn = false;
    }
    if (!drawn && !marking()) {
      draw();
      drawn = true;
    }
    places.when.textContent = `as of ${new Date().toLocaleTimeString()}`;
  } catch (error) {
    if (wantsToken(error)) {
      places = null;
      return askForToken(main, error, begin);
    }
    if (!(error instanceof ApiError)) throw error;
    const old = seen ? " What stands here is of before." : "";
    redraw(
      places.banner,
      h(
        "p",
        { class: "banner bad" },
        h("span", {}, `${error.message}${old}`),
        h("code", { class: "small" }, error.code),
      ),
    );
  }
  timer = setTimeout(look, POLL_MS);
}

function draw() {
  const { cluster, alarmLines } = seen;
  document.title = `${alarmLines.length ? "⚠ " : ""}${cluster.cluster} · hotseat`;
  redraw(places.name, "Cluster ", h("code", {}, cluster.cluster));
  places.tiles.draw(seen);
  redraw(places.alarms, alarmsPanel(seen));
  show(places.nodes, nodesPanel(cluster.nodes));
  show(places.shards, shardsPanel(seen.shards, cluster, seen.shardsLeftOut));
  show(places.hottest, hottestPanel(seen));
  show(places.operations, operationsPanel(seen.operations));
  sayAlarms(alarmLines);
}

/** Show something else, scrolled as far as it was. */
function show(place, ...children) {
  const scrolled = [...place.querySelectorAll(".scroll")].map((each) => [
    each.scrollLeft,
    each.scrollTop,
  ]);
  redraw(place, ...children);
  place.querySelectorAll(".scroll").forEach((each, number) => {
    [each.scrollLeft, each.scrollTop] = scrolled[number] ?? [0, 0];
  });
}

/** Whether somebody marks text. */
function marking() {
  const selection = getSelection();
  return Boolean(
    selection && !selection.isCollapsed && main.contains(selection.anchorNode),
  );
}

/** What is new is said; what goes on is not said again. */
function sayAlarms(lines) {
  const now = lines.map((line) => `${line.code} at ${line.at}`).join("; ");
  if (now === alarmed) return;
  if (now || alarmed) say(now ? `Alarms: ${now.slice(0, 300)}` : "No alarms any more.");
  alarmed = now;
}
