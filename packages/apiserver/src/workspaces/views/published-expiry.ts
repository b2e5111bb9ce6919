import type { WatchHub } from '../../watch/hub.ts';
import type { PublishedChanges } from '../caching/changes.ts';

/** Many workspaces may bind in quick succession: watches restart once for all of them. */
const gather = 300;

/** Ends watches that started before a change of what is published, or to whom. Clients start over. */
export class PublishedExpiry implements Disposable {
  readonly #hub: WatchHub;
  readonly #due = new Map<string, number>();
  #timer: NodeJS.Timeout | undefined;

  constructor(changes: PublishedChanges, hub: WatchHub) {
    this.#hub = hub;
    changes.listeners.add((name, revision) => this.#schedule(name, revision));
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
  }

  #schedule(name: string, revision: number): void {
    this.#due.set(name, revision);
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      for (const [due, before] of this.#due) this.#hub.expire([due], undefined, before);
      this.#due.clear();
    }, gather);
    this.#timer.unref();
  }
}
