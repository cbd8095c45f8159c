// What a page knows of a match: the newest position, what led there, and what was asked
// and is not answered. Pure: it is told messages, and says what they changed.

/**
 * Any JSON value.
 * @typedef {any} Json
 */
/**
 * How a match stands, as one place may see it.
 * @typedef {object} Snapshot
 * @property {string} matchID
 * @property {string} [playerID]
 * @property {number} revision
 * @property {Json} G the view
 * @property {Json} result null while it goes on
 * @property {{node: string, path: string[], turn: number}} position
 * @property {{activePlayers: string[], control: Json, selectors: Json,
 *   controlMeta: {deadline: number | null, label: string | null}}} derived
 * @property {[string, Json][] | null} [legalActions]
 * @property {{revision: number, playerID: string, to: number, agreed: string[]}} [undo]
 */
/**
 * What one event caused.
 * @typedef {object} Step
 * @property {{event: string, payload: Json, playerID: string | null, at: number,
 *   turn: number}} event
 * @property {Snapshot} snapshot
 * @property {{from: string, to: string}} transition
 */
/**
 * A moment of the match: the position, and the step that led there, if it was told.
 * @typedef {object} Frame
 * @property {Snapshot} snapshot
 * @property {Step | null} step
 */
/** @typedef {{id: string, event: string, payload: Json}} Pending */
/**
 * Why an action was refused.
 * @typedef {object} Refusal
 * @property {string} code
 * @property {string} reason the game's word for it, or ""
 * @property {string} text a sentence of the gateway's, or ""
 */

/** Moments that are kept; of longer matches the oldest are forgotten. */
const FRAMES_MAX = 1000;

export class MatchState {
  constructor() {
    /** @type {Frame[]} by revision, rising */
    this.frames = [];
    /** @type {Pending | null} the last action without an answer */
    this.pending = null;
    /** @type {Refusal | null} of the last action that was answered */
    this.refusal = null;
    /** @type {string} of this match, if it was told */
    this.game = "";
    /** @type {string[]} the seats in their order, as far as known */
    this.seats = [];
    /** Whether the game lets players take back. */
    this.undo = false;
  }

  /** The newest position; null before the first. @returns {Snapshot | null} */
  get newest() {
    return this.frames.at(-1)?.snapshot ?? null;
  }

  get ended() {
    return this.newest !== null && this.newest.result !== null;
  }

  /** @param {Pending} action */
  asked(action) {
    this.pending = action;
    this.refusal = null;
  }

  /** What is asked gets no answer any more. */
  forgotten() {
    this.pending = null;
  }

  /**
   * @param {any} message
   * @returns {Step[]} what happened, for those who follow
   */
  hear(message) {
    if (message.type === undefined) return this._snapshot(message);
    if (message.type === "batch_applied") return this._batch(message);
    if (message.type === "action_rejected") this._rejected(message);
    else if (message.type === "match") this._introduced(message);
    return [];
  }

  _introduced({ game, players, undo }) {
    this.game = game;
    this.seats = players;
    this.undo = undo === true;
  }

  /** Take the whole match, as it is told after its end. @param {{frames: any[]}} film */
  take({ frames }) {
    if (!frames.length) return;
    this.frames = frames.map(({ snapshot, step }) => ({
      snapshot,
      step: step && { ...step, snapshot },
    }));
  }

  _snapshot(snapshot) {
    const known = this.newest;
    if (known && snapshot.revision === known.revision) {
      this.frames.at(-1).snapshot = snapshot; // the same moment, perhaps with legal actions
    } else {
      // After a loss a match may go on from an earlier revision.
      this._cut(snapshot.revision);
      this._add({ snapshot, step: null });
    }
    return [];
  }

  _batch(message) {
    const steps = message.steps ?? [];
    for (const step of steps) {
      this._cut(step.snapshot.revision);
      this._add({ snapshot: step.snapshot, step });
    }
    if (!steps.length && message.revision !== this.newest?.revision) {
      return this._snapshot(message.snapshot);
    }
    if (this.newest && message.revision >= this.newest.revision) {
      const last = this.frames.at(-1);
      last.snapshot = { ...last.snapshot, ...message.snapshot };
    }
    if (message.ackClientActionID === this.pending?.id) this.pending = null;
    return steps;
  }

  _rejected(message) {
    if (message.clientActionID !== this.pending?.id) return;
    this.pending = null;
    this.refusal = {
      code: message.detail?.code ?? message.error,
      reason: typeof message.reason === "string" ? message.reason : "",
      text: message.detail?.message ?? "",
    };
  }

  _add(frame) {
    this.frames.push(frame);
    if (this.frames.length > FRAMES_MAX) this.frames.shift();
  }

  /** Forget what is not earlier than a revision. */
  _cut(revision) {
    while (this.frames.length && this.newest.revision >= revision) this.frames.pop();
  }
}

/** Whether a seat may act. @param {Snapshot | null} snapshot @param {string} seat */
export function mayAct(snapshot, seat) {
  return !!seat && !!snapshot?.derived.activePlayers.includes(seat);
}

/**
 * Whether an action is among those that are allowed; null: that was not told.
 * @param {Snapshot} snapshot @param {string} event @param {Json} payload
 */
export function isLegal(snapshot, event, payload) {
  if (!snapshot.legalActions) return null;
  const wanted = canonical(payload);
  return snapshot.legalActions.some(
    ([name, given]) => name === event && canonical(given) === wanted,
  );
}

/** The payloads that one event may have. @returns {Json[]} */
export function payloadsOf(snapshot, event) {
  return (snapshot.legalActions ?? [])
    .filter(([name]) => name === event)
    .map(([, payload]) => payload);
}

/** A value as text, the same for equal values. @param {Json} value */
export function canonical(value) {
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`;
  if (typeof value === "object" && value !== null) {
    const keys = Object.keys(value).sort();
    return `{${keys.map((key) => `${JSON.stringify(key)}:${canonical(value[key])}`).join()}}`;
  }
  return JSON.stringify(value ?? null);
}
