// Battleship: one's own sea, and what is known of the other's.

import { h } from "../dom.js";
import { isLegal, mayAct } from "../match_state.js";
import { grid } from "./grid.js";

const SIZE = 8;
const SHIPS = [4, 3, 2];
const COLUMNS = "ABCDEFGH";

/** @type {import("./boards.js").Board} */
export const battleship = {
  game: "battleship",
  fits: (view) => !!view.shots && !!view.placed,

  draw(scene) {
    const { view } = scene;
    const seats = Object.keys(view.shots);
    const me = seats.includes(scene.seat) ? scene.seat : null;
    const order = me === null ? seats : [seats.find((seat) => seat !== me), me];
    const placing = Object.values(view.placed).some((n) => n < SHIPS.length);
    const seas = order.map((seat) => sea(scene, seats, seat, seat === me, placing));
    return [
      placing && me !== null && placement(scene, me),
      h("div", { class: "seas" }, placing && me !== null ? [seas[1], seas[0]] : seas),
    ];
  },

  tell({ event, snapshot }) {
    if (event.event === "place") return "places a ship";
    const shots = snapshot.G.shots?.[event.playerID ?? ""] ?? [];
    const answer = shots.find((shot) => shot.cell === event.payload?.cell)?.answer;
    return `shoots at ${placeName(event.payload?.cell ?? 0)}: ${ANSWERS[answer] ?? ""}`;
  },
  reasons: {
    already_shot_there: "You have shot there already.",
    leaves_the_sea: "The ship would leave the sea.",
    ships_overlap: "Two ships cannot lie on one place.",
  },
};

const ANSWERS = { miss: "water", hit: "hit", sunk: "sunk" };

/** The sea of one seat: its ships, as far as known, and the shots of the other. */
function sea(scene, seats, owner, mine, placing) {
  const { view, snapshot } = scene;
  const shooter = seats.find((seat) => seat !== owner);
  const shots = new Map(view.shots[shooter].map((shot) => [shot.cell, shot.answer]));
  const fleet = (mine && view.myFleet) || view.fleets?.[owner] || [];
  const ships = new Set(fleet.flat());
  const target = shooter === scene.seat && scene.open && !placing;
  const laying = mine && placing && scene.open && mayAct(snapshot, scene.seat);
  const asked = scene.pending?.payload?.cell;
  const across = scene.memory.across ?? true;
  const newest = scene.step?.event;
  const cell = (row, column) => {
    const at = row * SIZE + column;
    const answer = shots.get(at);
    const payload = laying ? { cell: at, across } : { cell: at };
    const choosable =
      (target || laying) &&
      isLegal(snapshot, laying ? "place" : "shoot", payload) === true;
    return {
      key: `${owner}/${at}`,
      label: described(at, ships.has(at), answer),
      content: [
        column === 0 && h("span", { class: "rank", "aria-hidden": "true" }, row + 1),
        row === SIZE - 1 &&
          h("span", { class: "file", "aria-hidden": "true" }, COLUMNS[column]),
        answer && h("span", { class: ["shot", answer], "aria-hidden": "true" }),
      ],
      classes: [
        ships.has(at) && "ship",
        (target || laying) && at === asked && "asked",
        newest?.event === "shoot" &&
          newest.playerID === shooter &&
          newest.payload?.cell === at &&
          "last",
      ],
      onpoint: laying
        ? () => preview(scene, owner, choosable ? at : -1, across)
        : undefined,
      choose: choosable ? () => scene.act(laying ? "place" : "shoot", payload) : null,
    };
  };
  const title = mine ? "Your sea" : `The sea of ${scene.names.of(owner)}`;
  const left =
    SHIPS.length - view.shots[shooter].filter(({ answer }) => answer === "sunk").length;
  return h(
    "figure",
    { class: ["sea", mine && "mine", target && "open"] },
    h(
      "figcaption",
      { class: "row spread" },
      h("strong", {}, title),
      h(
        "span",
        { class: "muted small" },
        placing ? `${view.placed[owner]} of 3 placed` : `${left} of 3 afloat`,
      ),
    ),
    grid({
      name: `sea-${owner}`,
      label: title,
      rows: SIZE,
      columns: SIZE,
      cell,
      memory: scene.memory,
      class: "water",
    }),
  );
}

/** How the next ship is laid. */
function placement(scene, me) {
  const placed = scene.view.placed[me];
  if (placed === SHIPS.length)
    return h(
      "p",
      { class: "prompt" },
      "Your fleet is set. The other still places theirs.",
    );
  const across = scene.memory.across ?? true;
  const way = (value, text) =>
    h(
      "button",
      {
        type: "button",
        class: "compact",
        "aria-pressed": String(across === value),
        "data-key": `way/${value}`,
        onclick: () => {
          scene.memory.across = value;
          scene.redraw();
        },
      },
      text,
    );
  return h(
    "div",
    { class: "row prompt" },
    h("p", {}, `Place a ship of ${SHIPS[placed]}: choose its first cell.`),
    h(
      "div",
      { class: "segments", role: "group", "aria-label": "The ship lies" },
      way(true, "Across"),
      way(false, "Down"),
    ),
  );
}

/** Show where the ship would lie. */
function preview(scene, owner, at, across) {
  const length = SHIPS[scene.view.placed[scene.seat]] ?? 0;
  const cells =
    at < 0 ? [] : Array.from({ length }, (_, n) => at + n * (across ? 1 : SIZE));
  for (const cell of document.querySelectorAll(".sea.mine [data-cell]")) {
    const number = Number(cell.getAttribute("data-cell")?.slice(owner.length + 1));
    cell.classList.toggle("ghost", cells.includes(number));
  }
}

function described(cell, ship, answer) {
  const what = [ship && "ship", answer && ANSWERS[answer]].filter(Boolean).join(", ");
  return `${placeName(cell)}: ${what || "water not shot at"}`;
}

function placeName(cell) {
  return `${COLUMNS[cell % SIZE]}${Math.floor(cell / SIZE) + 1}`;
}
