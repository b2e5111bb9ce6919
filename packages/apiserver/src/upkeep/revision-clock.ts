interface Sample {
  readonly at: number;
  readonly revision: number;
}

/** Maps times to revisions. A few samples suffice, because both only increase. */
export class RevisionClock {
  #samples: Sample[] = [];

  /** Records that everything up to this revision was written by this time, in milliseconds. */
  add(at: number, revision: number): void {
    const last = this.#samples.at(-1);
    // Ignores a clock that was set back.
    if (last !== undefined && (at <= last.at || revision < last.revision)) return;
    this.#samples.push({ at, revision });
  }

  /** The newest revision known to be written by this time, or 0. Drops older samples. */
  upTo(at: number): number {
    let passed = 0;
    while (passed < this.#samples.length && this.#samples[passed]!.at <= at) passed++;
    if (passed === 0) return 0;
    this.#samples = this.#samples.slice(passed - 1);
    return this.#samples[0]!.revision;
  }
}
