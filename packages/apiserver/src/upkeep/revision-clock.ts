interface Sample {
  readonly at: number;
  readonly revision: number;
}

/** Which revisions are how old: a few samples tell it, since both only rise. */
export class RevisionClock {
  #samples: Sample[] = [];

  /** Everything up to this revision was written by then. Times in milliseconds. */
  add(at: number, revision: number): void {
    const last = this.#samples.at(-1);
    // A clock that was set back says nothing new.
    if (last !== undefined && (at <= last.at || revision < last.revision)) return;
    this.#samples.push({ at, revision });
  }

  /** The newest revision that is known to be written by then; 0 when none is. What is older is forgotten. */
  upTo(at: number): number {
    let passed = 0;
    while (passed < this.#samples.length && this.#samples[passed]!.at <= at) passed++;
    if (passed === 0) return 0;
    this.#samples = this.#samples.slice(passed - 1);
    return this.#samples[0]!.revision;
  }
}
