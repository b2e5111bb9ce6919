import type { Client, Informer, InformerFactory, ResourceType } from '@capstan/client';
import type { ControllerContext, Elsewhere } from '../manager/runnable.ts';

/** The endpoints that one run of a controller uses: its own, and those of sources with other clients. Disposing gives them back. */
export class Places implements AsyncDisposable {
  readonly #context: ControllerContext;
  readonly #others = new Map<Client, Elsewhere>();

  constructor(context: ControllerContext) {
    this.#context = context;
  }

  informersOf(client: Client | undefined): InformerFactory {
    if (client === undefined) return this.#context.informers;
    const known = this.#others.get(client) ?? this.#context.at(client);
    this.#others.set(client, known);
    return known.informers;
  }

  /** The local copy of a kind, wherever it is. */
  copyOf(type: Pick<ResourceType, 'group' | 'resource'>): Informer {
    const [found] = this.#all().flatMap((informers) => informers.of(type));
    if (found === undefined) throw new Error(`there is no local copy of ${type.resource} to wait for; name it in reads, owns or watches`);
    return found;
  }

  async synced(signal: AbortSignal): Promise<void> {
    await Promise.all(this.#all().map((informers) => informers.synced(signal)));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const other of this.#others.values()) await other[Symbol.asyncDispose]();
  }

  #all(): InformerFactory[] {
    return [this.#context.informers, ...[...this.#others.values()].map(({ informers }) => informers)];
  }
}
