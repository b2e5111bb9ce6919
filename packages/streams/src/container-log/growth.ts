import { type FSWatcher, watch } from 'node:fs';
import { basename, dirname } from 'node:path';

/** In milliseconds: between two looks at a log that grows all the time, and between all looks where the system tells nothing of changes. */
const interval = 100;

/**
 * Waits for the growth of a log. The first line after a silence is seen at once, a log that grows all the time is looked at now and then, and an event of
 * another file in the folder, such as that of the end or of a rotation, ends the wait in both cases.
 */
export class LogGrowth implements Disposable {
  #folder: string | undefined;
  #name = '';
  #watcher: FSWatcher | undefined;
  /** When a change ended a wait, the last time. */
  #changedAt = Number.NEGATIVE_INFINITY;
  #seen: 'nothing' | 'growth' | 'more' = 'nothing';
  #wake: (() => void) | undefined;

  /** Before a look at the log: changes that come after this end the next wait. */
  begin(): void {
    this.#seen = 'nothing';
  }

  /** From now on, this file is the end of the log. Returns whether its folder was not watched before, so that it may have grown unseen. */
  watch(file: string | undefined): boolean {
    if (file === undefined) return false;
    this.#name = basename(file);
    const folder = dirname(file);
    if (folder === this.#folder) return false;
    this.#watcher?.close();
    this.#folder = folder;
    try {
      this.#watcher = watch(folder, { persistent: false }, (_event, name) => this.#changed(name));
      this.#watcher.on('error', () => this.#watcher?.close());
      return true;
    } catch {
      // The folder is gone, or the system watches too many: the time has to do.
      return false;
    }
  }

  /** Until the log may have grown, or the signal aborts. */
  async wait(signal: AbortSignal): Promise<void> {
    const left = this.#changedAt + interval - performance.now();
    const isBusy = left > 0;
    await new Promise<void>((resolve) => {
      const finish = (): void => {
        clearTimeout(timer);
        signal.removeEventListener('abort', finish);
        this.#wake = undefined;
        resolve();
      };
      const timer = setTimeout(finish, isBusy ? left : interval);
      this.#wake = () => {
        if (this.#seen === 'more' || (this.#seen === 'growth' && !isBusy)) finish();
      };
      signal.addEventListener('abort', finish);
      if (signal.aborted) finish();
      this.#wake?.();
    });
    if (this.#seen !== 'nothing') this.#changedAt = performance.now();
  }

  [Symbol.dispose](): void {
    this.#watcher?.close();
  }

  #changed(name: string | null): void {
    if (name !== this.#name) this.#seen = 'more';
    else if (this.#seen === 'nothing') this.#seen = 'growth';
    this.#wake?.();
  }
}
