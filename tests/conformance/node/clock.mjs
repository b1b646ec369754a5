// Virtual time: it moves on to the next timer only when nothing else can happen.

export class Clock {
  now = 0;
  #timers = [];
  #created = 0;
  #running = false;

  /** Come back `ticks` later; at equal ticks, first come, first served. */
  wait(ticks) {
    return new Promise((fire) => {
      this.#timers.push({ due: this.now + ticks, order: this.#created++, fire });
      this.#timers.sort((one, other) => one.due - other.due || one.order - other.order);
      if (!this.#running) this.#schedule();
    });
  }

  // All that follows from a timer is microtasks, and these come before the next immediate.
  #schedule() {
    this.#running = true;
    setImmediate(() => {
      const { due, fire } = this.#timers.shift();
      this.now = due;
      fire();
      this.#running = false;
      if (this.#timers.length > 0) this.#schedule();
    });
  }
}
