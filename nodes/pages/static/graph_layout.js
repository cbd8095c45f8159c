// Where the states of a game and the arrows between them are drawn. Pure: no document.
//
// States lie in layers, each below those that lead to it (Sugiyama's method: cycles are
// cut where a walk from the initial state comes back, the longest way counts, and each
// layer is put in the order of its neighbours' middles). A state with states within is
// laid out by itself and is a box among the others.
//
// All arrows between the same two states are one. An arrow that goes down to a free
// sight is a curve; all others go round the side, each in a lane of its own.

/**
 * @typedef {{id: string, kind: string, parent: string | null, path: string[]}} State
 * @typedef {{event: string, source: string, target: string, resolver: string | null}} Edge
 * @typedef {{x: number, y: number, width: number, height: number}} Box
 * @typedef {{source: string, target: string, edges: Edge[], label: string, path: string,
 *   labelX: number, labelY: number, anchor: "start" | "middle" | "end",
 *   by?: {x: number, y: number}}} Arrow
 * @typedef {{width: number, height: number, boxes: Map<string, Box>, arrows: Arrow[]}} Layout
 */

const ROW = 34; // height of a state
const TITLE = 26; // of a state with others within, above these
const PAD = 16;
const BETWEEN = { x: 36, y: 46 };
const LANE = 18;
const EVENTS_SHOWN = 3;
const TEXT_MAX = 26;

/** How wide a text is, about: 12 px of a plain face. */
export const widthOf = (text) => 6.7 * text.length;

/** What is written on a state. @param {string} name */
export function shown(name, most = TEXT_MAX) {
  return name.length > most ? `${name.slice(0, most - 1)}…` : name;
}

/** An event in words. @param {string} event */
export function eventName(event) {
  return event === "__timeout" ? "(timeout)" : event;
}

/** @param {{initial: string, nodes: State[], edges: Edge[]}} graph @returns {Layout} */
export function layOut(graph) {
  const states = new Map(graph.nodes.map((state) => [state.id, state]));
  const arrows = merged(graph.edges);
  const placed = arrange(null, graph, states, arrows);
  const boxes = placed.boxes;
  return routed(placed.width, placed.height, boxes, arrows, states);
}

/** Arrows with the edges that they stand for. @param {Edge[]} edges @returns {Arrow[]} */
function merged(edges) {
  const found = new Map();
  for (const edge of edges) {
    const key = JSON.stringify([edge.source, edge.target]);
    if (!found.has(key)) found.set(key, []);
    found.get(key).push(edge);
  }
  return [...found.values()].map((group) => {
    const events = [...new Set(group.map((edge) => eventName(edge.event)))];
    const more = events.length - EVENTS_SHOWN;
    const named = events.slice(0, EVENTS_SHOWN).map((event) => shown(event, 14));
    return {
      source: group[0].source,
      target: group[0].target,
      edges: group,
      label: named.join(", ") + (more > 0 ? ` +${more}` : ""),
      path: "",
      labelX: 0,
      labelY: 0,
      anchor: "middle",
    };
  });
}

/** The states within a parent, in a box of their own that begins at 0, 0. */
function arrange(parent, graph, states, arrows) {
  const children = graph.nodes.filter((state) => state.parent === parent);
  const inner = new Map();
  const sizes = new Map();
  for (const child of children) {
    if (child.kind !== "compound") {
      const width = Math.max(84, widthOf(shown(child.id)) + 28);
      sizes.set(child.id, { width, height: ROW });
      continue;
    }
    const within = arrange(child.id, graph, states, arrows);
    inner.set(child.id, within);
    sizes.set(child.id, {
      width: Math.max(within.width + 2 * PAD, widthOf(shown(child.id)) + 28),
      height: within.height + TITLE + PAD,
    });
  }
  const here = new Set(children.map((child) => child.id));
  const links = lifted(arrows, here, states);
  const layers = layered(
    children.map((child) => child.id),
    links,
    first(graph, here, states),
  );
  const boxes = new Map();
  const loops = loopWidths(arrows);
  const widths = layers.map((layer) => rowWidth(layer, sizes, loops));
  const width = Math.max(0, ...widths);
  let y = 0;
  layers.forEach((layer, number) => {
    let x = (width - widths[number]) / 2;
    const height = Math.max(...layer.map((id) => sizes.get(id).height));
    for (const id of layer) {
      const size = sizes.get(id);
      boxes.set(id, { x, y: y + (height - size.height) / 2, ...size });
      x += size.width + (loops.get(id) ?? 0) + BETWEEN.x;
    }
    y += height + BETWEEN.y;
  });
  for (const [id, within] of inner) {
    const box = boxes.get(id);
    const left = box.x + (box.width - within.width) / 2;
    for (const [name, part] of within.boxes) {
      boxes.set(name, { ...part, x: part.x + left, y: part.y + box.y + TITLE });
    }
  }
  const beyond = layers.map((layer, number) => {
    const loop = loops.get(layer.at(-1)) ?? 0;
    return loop - (width - widths[number]) / 2;
  });
  return {
    width: width + Math.max(0, ...beyond),
    height: Math.max(0, y - BETWEEN.y),
    boxes,
  };
}

/** Room for the arrows that lead back to their own state, to the right of it. */
function loopWidths(arrows) {
  const own = arrows.filter((arrow) => arrow.source === arrow.target);
  return new Map(own.map((arrow) => [arrow.source, 34 + widthOf(arrow.label)]));
}

/** Without what the last state has to its right: a single one is to stand in the middle. */
function rowWidth(layer, sizes, loops) {
  const last = layer.at(-1);
  const parts = layer.map(
    (id) => sizes.get(id).width + (id === last ? 0 : (loops.get(id) ?? 0)),
  );
  return parts.reduce((sum, part) => sum + part, BETWEEN.x * (layer.length - 1));
}

/** The arrows between the children of a parent, or what is within them. */
function lifted(arrows, here, states) {
  const above = (id) => states.get(id)?.path.find((name) => here.has(name)) ?? null;
  const links = [];
  for (const arrow of arrows) {
    const [from, to] = [above(arrow.source), above(arrow.target)];
    if (from !== null && to !== null && from !== to) links.push([from, to]);
  }
  return links;
}

function first(graph, here, states) {
  return states.get(graph.initial)?.path.find((name) => here.has(name)) ?? null;
}

/** The children in layers: the initial one is on top. */
function layered(names, links, initial) {
  const after = new Map(names.map((name) => [name, []]));
  for (const [from, to] of links) after.get(from).push(to);
  const order =
    initial === null ? names : [initial, ...names.filter((n) => n !== initial)];
  const state = new Map();
  const done = []; // each behind all that it leads to
  const forward = new Map(names.map((name) => [name, []]));
  const walk = (name) => {
    state.set(name, "open");
    for (const next of after.get(name)) {
      if (state.get(next) === "open") continue; // a cycle: cut here
      forward.get(name).push(next);
      if (!state.has(next)) walk(next);
    }
    state.set(name, "closed");
    done.push(name);
  };
  for (const name of order) if (!state.has(name)) walk(name);
  const depth = new Map(names.map((name) => [name, 0]));
  for (const name of done.reverse()) {
    for (const next of forward.get(name)) {
      depth.set(next, Math.max(depth.get(next), depth.get(name) + 1));
    }
  }
  const layers = [];
  for (const name of order) (layers[depth.get(name)] ??= []).push(name);
  return sorted(layers.filter(Boolean), links);
}

/** Each layer in the order of its neighbours' middles above, so that few arrows cross. */
function sorted(layers, links) {
  for (let number = 1; number < layers.length; number++) {
    const above = new Map(layers[number - 1].map((name, place) => [name, place]));
    const middle = (name) => {
      const places = links
        .filter(([from, to]) => to === name && above.has(from))
        .map(([from]) => above.get(from));
      return places.length ? places.reduce((sum, p) => sum + p, 0) / places.length : 0;
    };
    layers[number].sort((one, other) => middle(one) - middle(other));
  }
  return layers;
}

/** All arrows, with their ways; and everything moved to where nothing is below 0. */
function routed(width, height, boxes, arrows, states) {
  let [left, right] = [0, width];
  const loops = arrows.filter((arrow) => arrow.source === arrow.target);
  for (const arrow of loops) {
    const box = boxes.get(arrow.source);
    const [x, y] = [box.x + box.width, box.y + box.height / 2];
    arrow.path = `M ${x} ${y - 4} C ${x + 28} ${y - 15}, ${x + 28} ${y + 19}, ${x + 2} ${y + 8}`;
    Object.assign(arrow, { labelX: x + 26, labelY: y + 6, anchor: "start" });
    right = Math.max(right, arrow.labelX + widthOf(arrow.label));
  }
  const others = arrows.filter((arrow) => arrow.source !== arrow.target);
  const straight = others.filter((arrow) => inSight(arrow, boxes, states));
  const ports = portsOf(straight, boxes);
  for (const arrow of straight) {
    const [x1, x2] = ports.get(arrow);
    const [from, to] = [boxes.get(arrow.source), boxes.get(arrow.target)];
    const [y1, y2] = [from.y + from.height, to.y - 2];
    const bend = Math.min(40, (y2 - y1) / 2);
    arrow.path = `M ${x1} ${y1} C ${x1} ${y1 + bend}, ${x2} ${y2 - bend}, ${x2} ${y2}`;
    Object.assign(arrow, { labelX: (x1 + x2) / 2, labelY: (y1 + y2) / 2 + 3 });
  }
  for (const arrow of others.filter((each) => !straight.includes(each))) {
    const [from, to] = [boxes.get(arrow.source), boxes.get(arrow.target)];
    const side = to.y > from.y ? "left" : "right";
    const sign = side === "left" ? -1 : 1;
    const edge = (box) => (side === "left" ? box.x : box.x + box.width);
    const lane = (side === "left" ? left : right) + sign * LANE;
    const [x1, x2] = [edge(from), edge(to) + sign * 2];
    const [y1, y2] = [from.y + from.height - 5, to.y + 7];
    const turn = Math.min(10, Math.abs(y2 - y1) / 2);
    const step = y2 > y1 ? turn : -turn;
    arrow.path =
      `M ${x1} ${y1} H ${lane - sign * turn} Q ${lane} ${y1}, ${lane} ${y1 + step} ` +
      `V ${y2 - step} Q ${lane} ${y2}, ${lane - sign * turn} ${y2} H ${x2}`;
    const anchor = side === "left" ? "end" : "start";
    Object.assign(arrow, {
      labelX: lane + sign * 5,
      labelY: (y1 + y2) / 2 + 4,
      anchor,
    });
    const end = arrow.labelX + sign * widthOf(arrow.label);
    [left, right] = [Math.min(left, end), Math.max(right, end)];
  }
  return moved(left - 6, -4, right + 6, height + 6, boxes, arrows);
}

/** Whether an arrow goes down, and nothing lies between. */
function inSight(arrow, boxes, states) {
  const [from, to] = [boxes.get(arrow.source), boxes.get(arrow.target)];
  if (to.y < from.y + from.height) return false;
  const [x1, y1, x2, y2] = [middle(from), from.y + from.height, middle(to), to.y];
  const related = new Set([
    ...(states.get(arrow.source)?.path ?? []),
    ...(states.get(arrow.target)?.path ?? []),
  ]);
  for (const [id, box] of boxes) {
    if (related.has(id)) continue;
    for (let part = 0; part <= 1; part += 0.1) {
      const [x, y] = [x1 + part * (x2 - x1), y1 + part * (y2 - y1)];
      const within = x > box.x - 6 && x < box.x + box.width + 6;
      if (within && y > box.y - 2 && y < box.y + box.height + 2) return false;
    }
  }
  return true;
}

/** Where each straight arrow begins and ends: spread over the sides of the boxes. */
function portsOf(arrows, boxes) {
  const ports = new Map(arrows.map((arrow) => [arrow, [0, 0]]));
  const spread = (end, other, place) => {
    for (const [id, group] of grouped(arrows, (arrow) => arrow[end])) {
      const box = boxes.get(id);
      group.sort((a, b) => middle(boxes.get(a[other])) - middle(boxes.get(b[other])));
      group.forEach((arrow, number) => {
        ports.get(arrow)[place] =
          box.x + (box.width * (number + 1)) / (group.length + 1);
      });
    }
  };
  spread("source", "target", 0);
  spread("target", "source", 1);
  return ports;
}

function grouped(items, keyOf) {
  const groups = new Map();
  for (const item of items) {
    const key = keyOf(item);
    groups.has(key) ? groups.get(key).push(item) : groups.set(key, [item]);
  }
  return groups;
}

const middle = (box) => box.x + box.width / 2;

function moved(left, top, right, bottom, boxes, arrows) {
  const by = { x: -left, y: -top };
  const shifted = new Map(
    [...boxes].map(([id, box]) => [id, { ...box, x: box.x + by.x, y: box.y + by.y }]),
  );
  return {
    width: right - left,
    height: bottom - top,
    boxes: shifted,
    arrows: arrows.map((arrow) => ({ ...arrow, by })),
  };
}
