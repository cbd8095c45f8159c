// The cluster's parts as tables: alarms, nodes, what is played, what operators did.

import { h } from "./dom.js";
import { count, rate } from "./cluster_tiles.js";

const UNKNOWN = "–";

/** @param {any} seen a `ClusterBody` */
export function alarmsPanel({ alarmLines, alarmsLeftOut, cluster }) {
  if (!alarmLines.length) return null;
  const told = alarmLines.reduce((sum, line) => sum + line.count, 0);
  const more = cluster.alarms.length + alarmsLeftOut - told;
  return h(
    "section",
    { class: "card panel alarms", "aria-label": "Alarms" },
    h("h2", {}, "Alarms"),
    h(
      "ul",
      { class: "stack tight" },
      alarmLines.map((alarm) =>
        h(
          "li",
          { class: "alarm" },
          h("strong", {}, alarm.at),
          h("span", {}, alarm.message),
          h("code", { class: "muted small" }, alarm.code),
        ),
      ),
    ),
    more > 0 && h("p", { class: "muted small" }, `and ${more} more`),
  );
}

/** @param {any[]} nodes */
export function nodesPanel(nodes) {
  return table(
    "nodes-table",
    [
      "Node",
      "State",
      "Owns",
      "Holds",
      "Matches",
      "Records/s",
      "Requests/s",
      "Uncommitted",
      "Lag",
    ],
    nodes.map((node) => {
      const rates = node.rates;
      const cells = [
        h("strong", {}, node.node),
        h(
          "span",
          { class: ["chip", toneOf(node)] },
          h("span", { class: ["dot", toneOf(node)] }),
          stateOf(node),
        ),
        ...[node.shards, node.following, node.reachable && node.matches].map(figure),
        figure(rates && rate(rates.records_per_s)),
        figure(rates && rate(rates.messages_per_s)),
        figure(node.reachable && node.uncommitted),
        figure(node.reachable && node.lag),
      ];
      return {
        key: node.node,
        cells,
        tone: node.reachable || node.elsewhere ? "" : "gone",
      };
    }),
  );
}

function stateOf(node) {
  if (node.elsewhere) return "elsewhere";
  if (!node.reachable) return `silent: ${node.error}`;
  if (node.state && node.state !== "up") return node.state;
  return node.ready ? "ready" : "not ready";
}

function toneOf(node) {
  if (node.elsewhere) return "";
  if (!node.reachable) return "bad";
  return node.ready && (!node.state || node.state === "up") ? "good" : "warn";
}

/** @param {any} seen a `ClusterBody` */
export function hottestPanel({ hottest, hottestOf, moreActive }) {
  if (!hottest.length)
    return h("p", { class: "muted" }, "In no match did anything happen in the last ten seconds.");
  const top = Math.max(...hottest.map((hot) => hot.recordsPerS));
  const rows = hottest.map(({ match, recordsPerS }) => ({
    key: match.match,
    cells: [
      matchLink(match.match),
      match.game,
      match.node,
      seats(match.to_act),
      h(
        "span",
        { class: "bar" },
        h("span", { class: "number" }, rate(recordsPerS)),
        h("span", { class: "fill", style: { width: `${(60 * recordsPerS) / top}%` } }),
      ),
    ],
  }));
  const all = moreActive ? `more than ${hottestOf}` : String(hottestOf);
  return [
    table("hottest-table", ["Match", "Game", "Node", "To act", "Records/s"], rows),
    h(
      "p",
      { class: "muted small" },
      `${all} ${hottestOf === 1 ? "match" : "matches"} in which something happened in the last ten seconds`,
    ),
  ];
}

/** @param {any[]} matches rows @param {boolean} more @param {Record<string, string>} silent */
export function matchesTable(matches, silent) {
  const away = Object.entries(silent).map(([node, code]) => `${node} (${code})`);
  return [
    away.length > 0 &&
      h(
        "p",
        { class: "banner warn" },
        `Of these nodes’ matches nothing is known: ${away.join(", ")}.`,
      ),
    matches.length === 0 && h("p", { class: "muted" }, "There is no such match."),
    matches.length > 0 &&
      table(
        "matches-table",
        ["Match", "Game", "State", "Seats to act", "Records", "Idle", "Shard", "Node"],
        matches.map((row) => ({
          key: row.match,
          cells: [
            matchLink(row.match),
            `${row.game} ${row.version}`,
            h(
              "span",
              {
                class: [
                  "chip",
                  { running: "good", waiting: "warn", quarantined: "bad" }[row.state],
                ],
              },
              row.state,
            ),
            seats(row.to_act),
            figure(count(row.records)),
            figure(duration(row.idle_s)),
            figure(row.shard),
            row.node,
          ],
        })),
      ),
  ];
}

/** @param {any[] | null} operations */
export function operationsPanel(operations) {
  if (operations === null)
    return h("p", { class: "muted" }, "The record of it cannot be read now.");
  if (!operations.length) return h("p", { class: "muted" }, "Nothing yet.");
  const running = operations.filter((one) => one.state === "running");
  const ended = operations.filter((one) => one.state !== "running");
  return table(
    "operations-table",
    ["When", "Who", "What", "About", "State", "Why"],
    [...running, ...ended].map((one) => ({
      key: one.id,
      cells: [
        h(
          "time",
          { class: "number", datetime: new Date(one.asked_ms).toISOString() },
          new Date(one.asked_ms).toLocaleString(),
        ),
        one.who,
        h("code", {}, one.verb),
        about(one),
        outcome(one),
        one.why,
      ],
    })),
  );
}

function about(one) {
  return one.verb.startsWith("match.") && /^[a-z2-7]{26}$/.test(one.target)
    ? matchLink(one.target)
    : one.target;
}

function outcome(one) {
  const progress = one.progress ? ` ${one.progress.done} / ${one.progress.total}` : "";
  const tone = { running: "warn", done: "good", failed: "bad", node_gone: "bad" }[
    one.state
  ];
  return [
    h("span", { class: ["chip", tone] }, `${one.state.replace("_", " ")}${progress}`),
    one.code && h("span", { class: "small muted", title: one.message }, ` ${one.code}`),
  ];
}

function matchLink(match) {
  return h(
    "a",
    {
      href: `/inspect#m=${match}`,
      title: match,
      "aria-label": `Inspect match ${match}`,
      "data-key": `match ${match}`,
    },
    h("code", {}, `${match.slice(0, 10)}…`),
  );
}

function seats(names) {
  if (names === null) return h("span", { class: "muted" }, "not in memory");
  if (!names.length) return h("span", { class: "muted" }, "nobody");
  return names.map((seat) => h("span", { class: "chip" }, seat));
}

function figure(value) {
  const known = value !== null && value !== undefined && value !== false;
  return { number: known ? String(value) : UNKNOWN };
}

/** @param {number} seconds */
function duration(seconds) {
  if (seconds < 60) return `${Math.round(seconds)} s`;
  if (seconds < 3600) return `${Math.round(seconds / 60)} min`;
  return seconds < 172_800
    ? `${Math.round(seconds / 3600)} h`
    : `${Math.round(seconds / 86_400)} d`;
}

/** A table that is a table on wide screens, and on narrow ones a list of cards. */
function table(id, heads, rows) {
  return h(
    "div",
    { class: "scroll" },
    h(
      "table",
      { id, class: "cards" },
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
        rows.map(({ key, cells, tone }) =>
          h(
            "tr",
            { class: tone || null, "data-row": key },
            cells.map((cell, place) => {
              const number =
                cell !== null &&
                typeof cell === "object" &&
                "number" in cell &&
                !(cell instanceof Node);
              const said = number ? cell.number : cell;
              return h(
                "td",
                {
                  class: number && ["number right", said === UNKNOWN && "unknown"],
                  "data-head": heads[place],
                },
                said,
              );
            }),
          ),
        ),
      ),
    ),
  );
}
