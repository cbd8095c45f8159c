// The shards: a map of small squares, in the colours of their owners; and a table.

import { h } from "./dom.js";
import { count } from "./cluster_tiles.js";

const PINNED = 4096; // from this number on a shard is of one match that was moved alone

/** @param {any[]} shards @param {any} cluster @param {number} more left out */
export function shardsPanel(shards, cluster, more) {
  const colours = new Map(
    cluster.nodes.map((node, place) => [node.node, `var(--seat-${place % 6})`]),
  );
  const troubled = shards.filter((shard) => word(shard) !== "in sync");
  return [
    h(
      "ul",
      { class: "row small legend", "aria-label": "Owners" },
      cluster.nodes.map((node) => {
        const owned = shards.filter(
          (shard) => shard.owner === node.node && shard.serving,
        ).length;
        return h(
          "li",
          {},
          h("span", { class: "swatch", style: { background: colours.get(node.node) } }),
          `${node.node}: ${owned}`,
        );
      }),
    ),
    h(
      "div",
      { class: "map", "aria-hidden": "true" },
      shards.map((shard) => square(shard, colours)),
    ),
    h(
      "p",
      { class: "small muted" },
      troubled.length
        ? `${troubled.length} of ${shards.length} shards are not as they shall be`
        : "All shards are served, with all copies in sync",
      more > 0 && `; ${more} more are not shown`,
      ".",
    ),
    h(
      "details",
      {
        class: "more",
        open: open.all,
        ontoggle: (event) => (open.all = event.target.open),
      },
      h("summary", { "data-key": "shards" }, "As a table"),
      h("div", { class: "scroll tall" }, shardTable(shards)),
    ),
  ];
}

const open = { all: false }; // the panel is drawn anew at every look

function square(shard, colours) {
  const state = word(shard);
  return h(
    "span",
    {
      class: [
        "square",
        !shard.serving && "unserved",
        state !== "in sync" && "troubled",
        shard.moving_to && "moving",
      ],
      title: `shard ${shard.shard}: ${state}; owner ${shard.owner || "nobody"}, in sync ${shard.isr.join(", ") || "none"}, ${count(shard.matches)} matches`,
      style: { "--owner": colours.get(shard.owner) ?? "var(--line-strong)" },
    },
    shard.shard < PINNED ? shard.shard : "•",
  );
}

/** How a shard is, in a word. @param {any} shard */
function word(shard) {
  if (!shard.serving) return "not served";
  if (shard.moving_to) return `moving to ${shard.moving_to}`;
  if (shard.degraded) return "takes no actions";
  if (shard.learning.length) return `${shard.learning.join(", ")} catches up`;
  if (shard.short)
    return shard.short === 1
      ? "a copy is missing"
      : `${shard.short} copies are missing`;
  return "in sync";
}

function shardTable(shards) {
  const heads = ["Shard", "Owner", "In sync", "State", "Epoch", "Lag", "Matches"];
  return h(
    "table",
    {},
    h(
      "thead",
      {},
      h(
        "tr",
        {},
        heads.map((head) => h("th", { scope: "col" }, head)),
      ),
    ),
    h(
      "tbody",
      {},
      shards.map((shard) =>
        h(
          "tr",
          {},
          h("td", { class: "number" }, shard.shard),
          h("td", {}, shard.owner || "nobody"),
          h("td", {}, shard.isr.join(", ")),
          h("td", { class: word(shard) !== "in sync" && "troubled" }, word(shard)),
          h("td", { class: "number" }, shard.epoch),
          h("td", { class: "number" }, count(Math.max(0, ...Object.values(shard.lag)))),
          h("td", { class: "number" }, count(shard.matches)),
        ),
      ),
    ),
  );
}
