// The state of the inspector's controls: what is shown, whether it plays or follows.

export const SPEEDS = [0.25, 0.5, 1, 2, 4, 8, 16];

const TICK_MS = 700; // between two revisions at speed 1

export class Playback {
  /** @param {() => void} changed @param {() => {head: number, grows: boolean}} match */
  constructor(changed, match) {
    this._changed = changed;
    this._match = match;
    this._timer = 0;
    this.revision = 0;
    this.following = false;
    this.playing = false;
    this.speed = 1;
    this.direction = 1;
  }

  /** Show a revision; the newest one of a match that goes on is followed. */
  go(revision) {
    const { head, grows } = this._match();
    const to = Math.max(0, Math.min(revision, head));
    this.direction = to < this.revision ? -1 : 1;
    this.revision = to;
    this.stop();
    this.following = grows && to === head;
    this._changed();
  }

  step(by) {
    this.go(this.revision + by);
  }

  /** Follow the match. */
  live() {
    this.go(this._match().head);
  }

  /** The match has moved on. */
  grown() {
    if (this.following) {
      this.direction = 1;
      this.revision = this._match().head;
    }
    if (!this._match().grows) this.following = false;
    this._changed();
  }

  /** Play, from the beginning if the end is shown; or pause. */
  toggle() {
    if (this.playing) {
      this.stop();
    } else {
      if (this.revision >= this._match().head) this.revision = 0;
      this.direction = 1;
      this.following = false;
      this.playing = true;
      this._arm();
    }
    this._changed();
  }

  faster(by) {
    const place = SPEEDS.indexOf(this.speed) + by;
    this.speed = SPEEDS[Math.max(0, Math.min(place, SPEEDS.length - 1))];
    if (this.playing) this._arm();
    this._changed();
  }

  _arm() {
    clearTimeout(this._timer);
    this._timer = setTimeout(() => this._tick(), TICK_MS / this.speed);
  }

  _tick() {
    const { head, grows } = this._match();
    this.revision = Math.min(this.revision + 1, head);
    if (this.revision < head) this._arm();
    else {
      this.stop();
      this.following = grows;
    }
    this._changed();
  }

  /** No more ticks. */
  stop() {
    clearTimeout(this._timer);
    this.playing = false;
  }
}
