// The benchmark's games on boardgame.io's headless client, for the same run.
//
// usage: node boardgame.mjs SCENARIO ROUNDS
// prints one JSON object: {"steps": N, "cpu_us": total CPU time of the steps}.
// A scenario plays the same moves as its namesake in bench/engine_games.py.
import { createRequire } from "node:module";

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

// G is `rows` rows of 8 cells; a move adds one to one cell.
const board = (rows) => ({
  name: "board",
  setup: () => ({ rows: Array.from({ length: rows }, () => Array(8).fill(100)) }),
  turn: { minMoves: 1, maxMoves: 1 },
  moves: {
    bump: ({ G }, row, column) => {
      G.rows[row][column] += 1;
    },
  },
});

function playTicTacToe(rounds) {
  const clients = Array.from({ length: rounds }, () => Client({ game: ticTacToe, debug: false }));
  for (const client of clients) client.start();
  const before = process.cpuUsage();
  for (const client of clients) for (const cell of TIC_TAC_TOE_MOVES) client.moves.place(cell);
  const spent = process.cpuUsage(before);
  for (const client of clients) {
    if (client.getState().ctx.gameover === undefined) throw new Error("the game did not end");
  }
  return { steps: rounds * TIC_TAC_TOE_MOVES.length, cpu_us: spent.user + spent.system };
}

function playBoard(rows, warm, steps) {
  const client = Client({ game: board(rows), debug: false });
  client.start();
  const bump = (i) => client.moves.bump(i % rows, i % 8);
  for (let i = 0; i < warm; i++) bump(i);
  const before = process.cpuUsage();
  for (let i = 0; i < steps; i++) bump(i);
  const spent = process.cpuUsage(before);
  return { steps, cpu_us: spent.user + spent.system };
}

function createSessions(rounds) {
  const before = process.cpuUsage();
  for (let i = 0; i < rounds; i++) Client({ game: ticTacToe, debug: false }).start();
  const spent = process.cpuUsage(before);
  return { steps: rounds, cpu_us: spent.user + spent.system };
}

const [scenario, roundsText] = process.argv.slice(2);
const rounds = Number(roundsText);
const run = {
  tic_tac_toe: () => (playTicTacToe(20), playTicTacToe(rounds)),
  g_2kb: () => playBoard(64, 50, rounds),
  g_20kb: () => playBoard(640, 50, rounds),
  log_10: () => playBoard(8, 10, rounds),
  log_1000: () => playBoard(8, 1000, rounds),
  log_10000: () => playBoard(8, 10000, rounds),
  create: () => createSessions(rounds),
}[scenario];
if (run === undefined) {
  console.error(`unknown scenario ${scenario}`);
  process.exit(2);
}
console.log(JSON.stringify(run()));
