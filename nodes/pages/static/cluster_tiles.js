// The cluster in six figures, and how two of them went in the last minutes.

import { h, redraw, s } from "./dom.js";

const KEPT = 80; // looks, for the lines
const SHOWN_MIN = 6; // of fewer a line says nothing

export class Tiles {
  constructor() {
    this.element = h("ul", { class: "tiles", "aria-label": "At a glance" });
    this._records = [];
    this._requests = [];
  }

  /** @param {any} seen a `ClusterBody` */
  draw({ cluster, alarmLines }) {
    const rates = cluster.rates;
    if (rates) {
      this._records = [...this._records, rates.records_per_s].slice(-KEPT);
      this._requests = [...this._requests, rates.messages_per_s].slice(-KEPT);
    }
    const up = cluster.nodes.filter((node) => node.reachable || node.elsewhere).length;
    const short =
      cluster.shards_owned < cluster.shards
        ? "some are served by nobody"
        : cluster.copies_short
          ? `${cluster.copies_short} copies missing`
          : `${cluster.copies} ${cluster.copies === 1 ? "copy" : "copies"} of each, in sync`;
    redraw(
      this.element,
      tile(
        "Nodes",
        `${up} / ${cluster.nodes.length}`,
        up < cluster.nodes.length ? "some are silent" : "all answer",
        up < cluster.nodes.length && "bad",
      ),
      tile(
        "Shards served",
        `${cluster.shards_owned} / ${cluster.shards}`,
        short,
        cluster.shards_owned < cluster.shards ? "bad" : cluster.copies_short && "warn",
      ),
      tile(
        "Matches",
        count(cluster.matches),
        `${count(cluster.ended)} just over${cluster.quarantined ? `, ${cluster.quarantined} set apart` : ""}`,
        cluster.quarantined && "warn",
      ),
      tile(
        "Records a second",
        rates ? rate(rates.records_per_s) : "–",
        line(this._records),
      ),
      tile("Requests a second", rates ? rate(rates.messages_per_s) : "–", [
        line(this._requests),
        rates?.refused_per_s ? `${rate(rates.refused_per_s)} refused` : "",
      ]),
      tile(
        "Alarms",
        String(alarmLines.length),
        alarmLines.length ? "see below" : "all is well",
        alarmLines.length && "bad",
      ),
    );
  }
}

function tile(name, figure, below, tone) {
  return h(
    "li",
    { class: ["tile card", tone] },
    h("span", { class: "name" }, name),
    h("strong", { class: "number figure" }, figure),
    h("span", { class: "muted small below" }, below),
  );
}

function line(values) {
  if (values.length < SHOWN_MIN) return "";
  const top = Math.max(1, ...values);
  const first = KEPT - values.length; // the newest is at the right end
  const points = values.map(
    (value, place) =>
      `${(((first + place) * 100) / (KEPT - 1)).toFixed(1)},${(22 - (20 * value) / top).toFixed(1)}`,
  );
  return s(
    "svg",
    {
      class: "line",
      viewBox: "0 0 100 24",
      preserveAspectRatio: "none",
      role: "img",
      "aria-label": `in the last looks up to ${rate(top)}`,
    },
    s("polyline", { points: points.join(" ") }),
  );
}

/** A count for people. @param {number} value */
export function count(value) {
  return value.toLocaleString("en");
}

/** A rate for people. @param {number} value */
export function rate(value) {
  if (value >= 100) return count(Math.round(value));
  if (value > 0 && value < 0.05) return "< 0.1";
  return value.toFixed(value && value < 10 ? 1 : 0);
}
