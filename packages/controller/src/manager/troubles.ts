import { ApiError, ConnectionError, isExpired, isTooLargeResourceVersion } from '@capstan/client';
import { Trouble } from '@capstan/machinery';

const now = (): number => performance.now();

/** Identifies a watch: the resource, and a key that is unique among watches of the same resource. */
export interface WatchSource {
  readonly resource: string;
  readonly informer: string;
}

/** Reports problems in few log lines, however many controllers they affect. */
export class Troubles {
  readonly #log: (line: string) => void;
  /** The server cannot be reached, or serves nobody. */
  readonly #server: Trouble;
  /** The server answers, but rejects the watch of a resource. */
  readonly #refused = new Map<string, Trouble>();

  constructor(log: (line: string) => void) {
    this.#log = log;
    this.#server = new Trouble({
      log,
      now,
      begins: (why) => `the API server cannot be used: ${why}; trying again`,
      lasts: (why, { duration, sources }) => `the API server could not be used for ${duration}, ${sources} watches wait: ${why}`,
      ends: ({ duration }) => `the API server can be used again after ${duration}`,
    });
  }

  watchFailed(error: unknown, { resource, informer }: WatchSource): void {
    // The watch starts again with the whole state, so nothing is wrong.
    if (isExpired(error) || isTooLargeResourceVersion(error)) return;
    if (isServerTrouble(error)) this.#server.report(textOf(error), informer);
    else if (error instanceof ApiError) this.#refusedFor(resource).report(textOf(error), informer);
    else this.#log(`${resource}: ${textOf(error)}`);
  }

  watchRecovered({ resource, informer }: WatchSource): void {
    this.#server.clear(informer);
    this.#refused.get(resource)?.clear(informer);
  }

  /** Reports the failure of a request. That the server cannot be reached is reported once for all requests. */
  requestFailed(error: unknown, doing: string): void {
    if (error instanceof ConnectionError) this.#server.report(textOf(error));
    else this.#log(`${doing}: ${textOf(error)}`);
  }

  /** To be called periodically: notices that requests no longer fail. */
  settle(): void {
    this.#server.settle();
  }

  #refusedFor(resource: string): Trouble {
    let trouble = this.#refused.get(resource);
    if (trouble === undefined) {
      trouble = new Trouble({
        log: this.#log,
        now,
        begins: (why) => `${resource} cannot be watched: ${why}; trying again`,
        lasts: (why, { duration }) => `${resource} could not be watched for ${duration}: ${why}`,
        ends: ({ duration }) => `${resource} can be watched again after ${duration}`,
      });
      this.#refused.set(resource, trouble);
    }
    return trouble;
  }
}

/** Reports who holds the lease that this process waits for, and problems with reaching it. */
export class LeaseTroubles {
  readonly #waiting: Trouble;
  readonly #failing: Trouble;
  readonly #troubles: Troubles;
  #holder = '';

  constructor(lease: string, { log, troubles }: { readonly log: (line: string) => void; readonly troubles: Troubles }) {
    this.#troubles = troubles;
    this.#waiting = new Trouble({
      log,
      now,
      begins: (holder) => `lease ${lease}: waiting, held by ${holder}`,
      lasts: (holder, { duration }) => `lease ${lease}: waiting for ${duration}, held by ${holder}`,
      ends: () => undefined,
    });
    this.#failing = new Trouble({
      log,
      now,
      begins: (why) => `lease ${lease}: ${why}; trying again`,
      lasts: (why, { duration }) => `lease ${lease}: out of reach for ${duration}: ${why}`,
      ends: ({ duration }) => `lease ${lease}: reached again after ${duration}`,
    });
  }

  waiting(holder: string): void {
    if (holder !== this.#holder) this.#waiting.clear(this.#holder);
    this.#holder = holder;
    this.#waiting.report(holder, holder);
  }

  leading(): void {
    this.#waiting.clear(this.#holder);
  }

  failed(error: unknown): void {
    if (error instanceof ConnectionError) this.#troubles.requestFailed(error, '');
    else this.#failing.report(textOf(error), 'lease');
  }

  reached(): void {
    this.#failing.clear('lease');
  }
}

function isServerTrouble(error: unknown): boolean {
  return error instanceof ConnectionError || (error instanceof ApiError && (error.code === 401 || error.code === 429 || error.code >= 500));
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
