// The states of a game, drawn: where the match is, how it came there, where it may go.

import { redraw, s } from "./dom.js";
import { eventName, layOut, shown } from "./graph_layout.js";

const SMALLEST = 0.6; // of its own size: then it is scrolled

export class GraphView {
  /** @param {HTMLElement} place */
  constructor(place) {
    this._place = place;
    this._graph = null;
    this._layout = null;
  }

  /** @param {any} graph a `GraphBody` */
  show(graph) {
    this._graph = graph;
    this._layout = layOut(graph);
  }

  /** Draw it for a frame; without one all is unlit. @param {any} frame */
  draw(frame) {
    const { _graph: graph, _layout: layout } = this;
    if (!graph || !layout) return;
    const { width, height } = layout;
    redraw(
      this._place,
      s(
        "svg",
        {
          class: "graph",
          viewBox: `0 0 ${width} ${height}`,
          role: "img",
          "aria-label": inWords(frame),
          style: {
            "max-width": `${Math.round(width)}px`,
            "max-height": `${Math.round(height)}px`,
            "min-height": `${Math.round(SMALLEST * height)}px`,
          },
        },
        s("defs", {}, head("head"), head("head-taken")),
        // boxes with others within first: they lie behind
        [...graph.nodes]
          .sort((a, b) => a.path.length - b.path.length)
          .map((state) => this._state(state, frame)),
        layout.arrows
          .map((arrow) => ({ arrow, taken: takenBy(arrow, frame) }))
          .sort((a, b) => Number(Boolean(a.taken)) - Number(Boolean(b.taken)))
          .map(({ arrow, taken }) => this._arrow(arrow, taken)),
      ),
    );
  }

  _state(state, frame) {
    const box = this._layout.boxes.get(state.id);
    const here = frame?.path.at(-1) === state.id;
    const within = frame?.path.includes(state.id);
    const left = frame?.taken?.left === state.id;
    const next = frame?.pending.includes(state.id);
    const compound = state.kind === "compound";
    return s(
      "g",
      {
        class: [
          "state",
          compound && "compound",
          here && "here",
          within && "within",
          left && "left",
          next && "next",
        ],
      },
      s("title", {}, state.path.join(" / ")),
      s("rect", { ...box, rx: compound ? 12 : 9 }),
      s(
        "text",
        compound
          ? { x: box.x + 12, y: box.y + 18 }
          : {
              x: box.x + box.width / 2,
              y: box.y + box.height / 2 + 5,
              "text-anchor": "middle",
            },
        shown(state.id),
      ),
      !compound &&
        state.id === this._graph.initial &&
        s("circle", { class: "initial", cx: box.x, cy: box.y, r: 4.5 }),
    );
  }

  _arrow(arrow, taken) {
    const { x, y } = arrow.by;
    const told = arrow.edges.map(
      (edge) => `${eventName(edge.event)}${edge.resolver ? ` (${edge.resolver})` : ""}`,
    );
    return s(
      "g",
      { class: ["arrow", taken && "taken"], transform: `translate(${x} ${y})` },
      s("title", {}, `${arrow.source} → ${arrow.target}\n${told.join("\n")}`),
      s("path", {
        d: arrow.path,
        "marker-end": `url(#${taken ? "head-taken" : "head"})`,
      }),
      s(
        "text",
        { x: arrow.labelX, y: arrow.labelY, "text-anchor": arrow.anchor },
        taken ? labelWith(arrow.label, eventName(taken.event)) : arrow.label,
      ),
    );
  }
}

/** The label, in which the event that came stands out. */
function labelWith(label, event) {
  const [before, after] = label.split(event, 2);
  if (after === undefined) return [label, " ", s("tspan", { class: "came" }, event)];
  return [before, s("tspan", { class: "came" }, event), after];
}

function head(id) {
  return s(
    "marker",
    {
      id,
      viewBox: "0 0 10 10",
      refX: 9,
      refY: 5,
      markerWidth: 9,
      markerHeight: 9,
      markerUnits: "userSpaceOnUse",
      orient: "auto-start-reverse",
    },
    s("path", { d: "M 0 1 L 10 5 L 0 9 z" }),
  );
}

function takenBy(arrow, frame) {
  const taken = frame?.taken;
  const same = taken?.source === arrow.source && taken?.target === arrow.target;
  return same ? taken : null;
}

function inWords(frame) {
  if (!frame) return "The states of the game";
  const parts = [`The match is in ${frame.path.at(-1)}`];
  if (frame.taken)
    parts.push(`it came from ${frame.taken.left} by ${eventName(frame.taken.event)}`);
  if (frame.pending.length) parts.push(`it may go to ${frame.pending.join(", ")}`);
  return `${parts.join("; ")}.`;
}
