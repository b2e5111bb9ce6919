import type { KubeObject } from '@capstan/machinery';
import type { CacheEntry } from '../cache/entry.ts';
import { clusterOfKey } from '../cache/key.ts';
import type { Backend } from '../registry/objects.ts';
import { type Evaluated, printHeld, type Quarantine, QuarantineClaims } from '../registry/quarantine.ts';
import type { Resource } from '../registry/resource.ts';
import { update } from '../registry/update.ts';
import { serverContext } from './context.ts';
import { Turns } from './turns.ts';

const manager = 'quarantine-controller';
/** Says why the expressions of an object are not evaluated. */
export const quarantinedAnnotation = 'capstan.dev/quarantined';

export interface QuarantineMarksOptions {
  readonly backend: Backend;
  /** A kind without a status, whose objects have expressions. */
  readonly resource: Resource;
  /** The expressions of an object, as the quarantine knows them. */
  readonly evaluated: (object: KubeObject) => Evaluated;
  readonly quarantine: Quarantine;
  readonly now: () => Date;
  readonly onError: (error: unknown) => void;
}

/** Marks every object of a kind that is in quarantine, and unmarks it when it was changed. */
export class QuarantineMarks implements Disposable {
  readonly #options: QuarantineMarksOptions;
  readonly #turns: Turns<string>;
  readonly #claims = new QuarantineClaims();

  constructor(options: QuarantineMarksOptions) {
    this.#options = options;
    this.#turns = new Turns({ work: (key) => this.#check(key), onError: options.onError });
    const held = options.backend.cache.resource(options.resource);
    held.listeners.add({
      changed: (events) => {
        for (const { type, entry } of events) if (type !== 'DELETED') this.#ask(entry);
      },
    });
    // Objects get into quarantine only while no server runs.
    held.entries.walk('', '\uffff', (entry: CacheEntry) => {
      if (entry.text.includes(quarantinedAnnotation)) this.#claims.set(entry.key, true);
      this.#ask(entry);
      return true;
    });
  }

  [Symbol.dispose](): void {
    this.#turns[Symbol.dispose]();
  }

  /** Reads objects only if there may be something to do: there can be thousands, and a quarantine is rare. */
  #ask({ key, text }: CacheEntry): void {
    if (!this.#options.quarantine.isEmpty || text.includes(quarantinedAnnotation)) this.#turns.ask(key);
  }

  #markOf(object: KubeObject): string | undefined {
    const { quarantine, evaluated } = this.#options;
    const held = quarantine.held(evaluated(object).identity);
    return held && printHeld(held);
  }

  #isDue(key: string, object: KubeObject): boolean {
    const says = object.metadata.annotations?.[quarantinedAnnotation] !== undefined;
    return this.#claims.isDue(key, { says, knows: this.#markOf(object) !== undefined });
  }

  async #check(key: string): Promise<void> {
    const { backend, resource, now } = this.#options;
    const current = backend.cache.resource(resource).entries.get(key)?.object;
    if (current === undefined || !this.#isDue(key, current)) return;
    const [, , name = ''] = key.split('/');
    const context = serverContext({ cluster: clusterOfKey(key), objects: backend.cache, now, userAgent: manager });
    let mark: string | undefined;
    await update(backend, context, {
      resource,
      namespace: '',
      name,
      subresource: '',
      manager,
      dryRun: false,
      change: (object) => {
        mark = this.#markOf(object);
        return { object: this.#isDue(key, object) ? marked(object, mark) : object };
      },
    });
    this.#claims.set(key, mark !== undefined);
  }
}

function marked(object: KubeObject, mark: string | undefined): KubeObject {
  const { [quarantinedAnnotation]: _, ...others } = object.metadata.annotations ?? {};
  const annotations = mark === undefined ? others : { ...others, [quarantinedAnnotation]: mark };
  return { ...object, metadata: { ...object.metadata, annotations } };
}
