// The benchmark's games on boardgame.io's headless client, for the same run.
//
// usage: RIVALS_ROOT=FOLDER node boardgame.mjs    (or bun; FOLDER has node_modules)
// Each line on its input, "SCENARIO COUNT", is answered by one JSON object on its
// output: {"steps": N, "cpu_us": CPU time of these steps in microseconds}. The process
// stays, so that what the runtime has learned to run fast is measured.
// A scenario plays the same moves as its namesake in bench/engine_games.py.
import { createRequire } from "node:module";
import { createInterface } from "node:readline";

const require = createRequire(process.env.RIVALS_ROOT + "/");
const { Client } = require("boardgame.io/client");
const { INVALID_MOVE } = require("boardgame.io/core");

const LINES = [
  [0, 1, 2], [3, 4, 5], [6, 7, 8],
  [0, 3, 6], [1, 4, 7], [2, 5, 8],
  [0, 4, 8], [2, 4, 6],
];
const won = (cells) =>
  LINES.some(([a, b, c]) => cells[a] !== null && cells[a] === cells[b] && cells[a] === cells[c]);

const ticTacToe = {
  name: "tic-tac-toe",
  setup: () => ({ cells: Array(9).fill(null) }),
  turn: { minMoves: 1, maxMoves: 1 },
  moves: {
    place: ({ G, playerID }, cell) => {
      if (G.cells[cell] !== null) return INVALID_MOVE;
      G.cells[cell] = playerID;
    },
  },
  endIf: ({ G, ctx }) => {
    if (won(G.cells)) return { winner: ctx.currentPlayer };
    if (G.cells.every((cell) => cell !== null)) return { draw: true };
  },
};
const TIC_TAC_TOE_MOVES = [4, 0, 8, 2, 6, 7, 1, 3, 5];

// G is a square of numbers; a move adds one to one cell.
const board = (side) => ({
  name: "board",
  setup: () => ({ rows: Array.from({ length: side }, () => Array(side).fill(100)) }),
  turn: { minMoves: 1, maxMoves: 1 },
  moves: {
    bump: ({ G }, row, column) => {
      G.rows[row][column] += 1;
    },
  },
});

function started(game) {
  const client = Client({ game, debug: false });
  client.start();
  return client;
}

function timed(steps, run) {
  const before = process.cpuUsage();
  run();
  const spent = process.cpuUsage(before);
  return { steps, cpu_us: spent.user + spent.system };
}

function playTicTacToe(matches) {
  const clients = Array.from({ length: matches }, () => started(ticTacToe));
  const answer = timed(matches * TIC_TAC_TOE_MOVES.length, () => {
    for (const client of clients) for (const cell of TIC_TAC_TOE_MOVES) client.moves.place(cell);
  });
  for (const client of clients) {
    if (client.getState().ctx.gameover === undefined) throw new Error("the game did not end");
  }
  return answer;
}

function bump(client, side, from, to) {
  for (let i = from; i < to; i++) client.moves.bump(i % side, (7 * i) % side);
}

function playBoard(side, steps) {
  const client = started(board(side));
  bump(client, side, 0, 10);
  return timed(steps, () => bump(client, side, 10, 10 + steps));
}

// A client that has made `length` moves is expensive to make, and kept.
const old = new Map();
function playOn(length, steps) {
  const side = 8;
  if (!old.has(length)) {
    old.set(length, started(board(side)));
    bump(old.get(length), side, 0, length);
  }
  return timed(steps, () => bump(old.get(length), side, 0, steps));
}

const scenarios = {
  tic_tac_toe: playTicTacToe,
  "2kb": (steps) => playBoard(22, steps),
  "20kb": (steps) => playBoard(71, steps),
  log_10: (steps) => playBoard(8, steps),
  log_1000: (steps) => playOn(1000, steps),
  log_10000: (steps) => playOn(10000, steps),
  create: (count) => {
    const kept = [];
    return timed(count, () => {
      for (let i = 0; i < count; i++) kept.push(started(ticTacToe));
    });
  },
};

for await (const line of createInterface({ input: process.stdin })) {
  const [scenario, count] = line.split(" ");
  if (scenarios[scenario] === undefined) {
    console.error(`unknown scenario ${scenario}`);
    process.exit(2);
  }
  console.log(JSON.stringify(scenarios[scenario](Number(count))));
}
