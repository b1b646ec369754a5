// Virtual time: it moves on to the next timer only when nothing else can happen.

/** Timers, in the order of their due ticks; at equal ticks, first come, first served. */
export class Timers {
  now = 0;
  #waiting = [];

  get left() {
    return this.#waiting.length;
  }

  /** Have `fire` called `ticks` later. */
  after(ticks, fire) {
    const due = this.now + ticks;
    const place = this.#waiting.findLastIndex((timer) => timer.due <= due) + 1;
    this.#waiting.splice(place, 0, { due, fire });
  }

  /** Go to the next timer and fire it; say whether there was one. */
  advance() {
    const timer = this.#waiting.shift();
    if (!timer) return false;
    this.now = timer.due;
    timer.fire();
    return true;
  }
}

/** Timers that move on by themselves. */
export class Clock extends Timers {
  #running = false;

  /** Come back `ticks` later. */
  wait(ticks) {
    return new Promise((fire) => {
      this.after(ticks, fire);
      if (!this.#running) this.#schedule();
    });
  }

  // All that follows from a timer is microtasks, and these come before the next immediate.
  #schedule() {
    this.#running = true;
    setImmediate(() => {
      this.advance();
      this.#running = false;
      if (this.left > 0) this.#schedule();
    });
  }
}

/**
 * Return what a run gives, firing the next timer whenever the run can do nothing else.
 *
 * Pi's loop itself waits for promises only: once an immediate gets its turn, no microtask is left, so the run has
 * ended, or waits for a timer, or will never end. The last is an error.
 */
export async function untilEnded(run, timers) {
  let ended = false;
  const end = () => (ended = true);
  run.then(end, end);
  for (;;) {
    await new Promise(setImmediate);
    if (ended) return run;
    if (!timers.advance()) throw new Error("the run never ends: it waits, and there is nothing left to wait for");
  }
}
