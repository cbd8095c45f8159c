// What the inspector says of one revision: what happened and why, what changed.

import { h } from "./dom.js";
import { eventName } from "./graph_layout.js";
import { inline, pretty } from "./value_tree.js";

const KINDS = {
  action: "",
  internal: "queued by a resolver",
  timeout: "a deadline passed",
  takeback: "moves were taken back",
  edit: "an operator changed the state",
  upgrade: "an operator changed the version",
  terminate: "an operator ended the match",
};

/** What happened, in one line. @param {any} frame */
export function headline(frame) {
  if (frame.kind === "initial") return "The match was created";
  if (frame.kind === "timeout") return "A deadline passed";
  const by = frame.seat === null ? "" : ` by seat ${frame.seat}`;
  return `${eventName(frame.event)}${by}`;
}

/** What happened, which branches were asked, and what came of it. @param {any} frame */
export function stepPanel(frame) {
  const [taken, kind] = [frame.taken, KINDS[frame.kind]];
  return [
    h(
      "header",
      { class: "step-head" },
      h("h3", {}, headline(frame)),
      h(
        "p",
        { class: "muted small number" },
        [`revision ${frame.revision}`, `turn ${frame.turn}`, kind, time(frame.at)]
          .filter(Boolean)
          .join(" · "),
      ),
    ),
    frame.operator &&
      h(
        "p",
        { class: "banner warn" },
        h(
          "span",
          {},
          h("strong", {}, frame.operator.who),
          `: ${frame.operator.why || "no reason given"}`,
        ),
      ),
    frame.payload !== null && fact("Payload", value(frame.payload)),
    frame.evaluations.length > 0 &&
      h("div", { class: "asked" }, frame.evaluations.map(evaluation)),
    h("dl", { class: "facts" }, taken && outcomes(frame, taken), control(frame)),
  ];
}

function evaluation(asked) {
  return h(
    "section",
    {},
    h("h4", {}, "Asked in ", h("code", {}, asked.source)),
    h("ul", { class: "branches" }, asked.branches.map(branch)),
    asked.branches.length === 0 &&
      h("p", { class: "muted small" }, "It has no branch for this event."),
  );
}

function branch(one) {
  const answer = one.taken ? "taken" : one.matched ? "would match" : "refused";
  const why = one.matched
    ? ""
    : one.rejectedBy === "reject"
      ? (one.reason ?? "rejected, no reason given")
      : "does not match";
  return h(
    "li",
    { class: ["branch", one.taken && "taken", !one.matched && "refused"] },
    h(
      "span",
      { class: "mark", "aria-hidden": "true" },
      one.taken ? "✓" : one.matched ? "○" : "✕",
    ),
    h(
      "div",
      {},
      h(
        "p",
        {},
        one.resolver && h("strong", {}, one.resolver.replace(/^resolver:/, ""), " "),
        h("span", { class: "muted" }, "→ "),
        h("code", {}, one.target),
        " ",
        h(
          "span",
          { class: ["chip", one.taken ? "good" : !one.matched && "bad"] },
          answer,
        ),
      ),
      why && h("p", { class: "small why" }, why),
      one.details !== null && h("pre", { class: "value small" }, pretty(one.details)),
    ),
  );
}

function outcomes(frame, taken) {
  const draws = taken.draws === 1 ? "1 draw" : `${taken.draws} draws`;
  return [
    pair("Went", [h("code", {}, taken.left), " → ", h("code", {}, taken.target)]),
    pair(
      "Turn",
      taken.turn === "preserve" ? "goes on" : `is over: turn ${frame.turn} begins`,
    ),
    pair("Chance", taken.draws ? draws : "none"),
    taken.queued.length > 0 &&
      pair(
        "Queued",
        h(
          "ol",
          { class: "plain" },
          taken.queued.map((one) =>
            h(
              "li",
              {},
              h("code", {}, one.event),
              " ",
              one.payload !== null && inline(one.payload),
            ),
          ),
        ),
      ),
    taken.profile && pair("Profiles", value(taken.profile)),
  ];
}

function control(frame) {
  const said = frame.control;
  return [
    pair("Control", frame.handoff.summary),
    said?.label && pair("Label", said.label),
    said?.deadline && pair("Deadline", time(said.deadline)),
    said?.control && pair("Says", value(said.control)),
    frame.controlProblem && pair("Control is not known", frame.controlProblem, "bad"),
    frame.result !== null && pair("Result", value(frame.result), "strong"),
  ];
}

/**
 * The places that changed.
 * @param {any[]} changes @param {number} more left out @param {string} what
 */
export function changesPanel(changes, more, what) {
  if (!changes.length) return [h("p", { class: "muted" }, `${what} did not change.`)];
  return [
    h(
      "ul",
      { class: "changes" },
      changes.map((change) =>
        h(
          "li",
          {},
          h("code", { class: "path" }, change.path.replace(/^\$\.?/, "") || what),
          short(change)
            ? h(
                "p",
                { class: "short" },
                h("del", {}, inline(change.before)),
                h("span", { class: "muted", "aria-hidden": "true" }, " → "),
                h("ins", {}, inline(change.after)),
              )
            : [
                h("del", { class: "block" }, pretty(change.before)),
                h("ins", { class: "block" }, pretty(change.after)),
              ],
        ),
      ),
    ),
    more > 0 && h("p", { class: "muted small" }, `and ${more} more changes`),
  ];
}

function short(change) {
  return inline(change.before, 41).length + inline(change.after, 41).length <= 60;
}

function fact(name, ...said) {
  return h("dl", { class: "facts" }, pair(name, said));
}

function pair(name, said, tone = "") {
  return h("div", { class: tone }, h("dt", {}, name), h("dd", {}, said));
}

function value(given) {
  const text = pretty(given);
  return text.includes("\n") ? h("pre", { class: "value" }, text) : h("code", {}, text);
}

function time(ms) {
  const at = new Date(ms);
  return ms > 1e11 ? at.toLocaleTimeString() : `at ${ms} ms`;
}
