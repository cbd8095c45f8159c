// Whether a king is attacked: only to show it. The rules are the server's.

const LEAPS = {
  n: [
    [1, 2],
    [2, 1],
    [-1, 2],
    [-2, 1],
    [1, -2],
    [2, -1],
    [-1, -2],
    [-2, -1],
  ],
  k: [
    [1, 0],
    [1, 1],
    [0, 1],
    [-1, 1],
    [-1, 0],
    [-1, -1],
    [0, -1],
    [1, -1],
  ],
};
const LINES = {
  r: [
    [1, 0],
    [0, 1],
    [-1, 0],
    [0, -1],
  ],
  b: [
    [1, 1],
    [-1, 1],
    [-1, -1],
    [1, -1],
  ],
};

/**
 * The square of the king of who is to move, if it is attacked.
 * @param {Record<string, string>} squares piece by square, large letters are white
 * @param {boolean} white whether white is to move
 * @returns {string | undefined}
 */
export function checkedKing(squares, white) {
  const king = Object.keys(squares).find((at) => squares[at] === (white ? "K" : "k"));
  return king && isAttacked(squares, king, white) ? king : undefined;
}

function isAttacked(squares, square, white) {
  const theirs = (piece, kinds) =>
    !!piece &&
    (piece === piece.toLowerCase()) === white &&
    kinds.includes(piece.toLowerCase());
  const at = (steps, [x, y]) => beyond(square, x * steps, y * steps);
  for (const [kind, paces] of Object.entries(LEAPS)) {
    if (paces.some((pace) => theirs(squares[at(1, pace)], kind))) return true;
  }
  for (const [kind, paces] of Object.entries(LINES)) {
    for (const pace of paces) {
      let steps = 1;
      while (at(steps, pace) && !squares[at(steps, pace)]) steps++;
      if (theirs(squares[at(steps, pace)], `${kind}q`)) return true;
    }
  }
  const ahead = white ? 1 : -1; // from where their pawns take
  return [-1, 1].some((side) => theirs(squares[beyond(square, side, ahead)], "p"));
}

/** Another square, seen from one; "" if that is off the board. */
function beyond(square, x, y) {
  const file = square.charCodeAt(0) + x;
  const rank = Number(square[1]) + y;
  const there = file >= 97 && file <= 104 && rank >= 1 && rank <= 8;
  return there ? String.fromCharCode(file) + rank : "";
}
