import type { KubeObject } from '@capstan/machinery';
import type { Client } from '../http/client.ts';
import type { ResourceType } from '../rest/resource.ts';
import { Informer } from './informer.ts';

export interface InformerSelection {
  readonly namespace?: string | undefined;
  readonly labelSelector?: string | undefined;
  readonly fieldSelector?: string | undefined;
  /** Keep only metadata: for types with many objects whose content does not matter. */
  readonly metadataOnly?: boolean | undefined;
}

export interface FactoryOptions {
  readonly client: Client;
  /** Applied to each object before it is cached; see `dropManagedFields`. */
  readonly transform?: <T extends KubeObject>(object: T) => T;
  readonly idleTimeout?: number;
  readonly pageSize?: number;
  /** Called for every failure that is retried. `informer` differs for each selection of a type. */
  readonly onError?: (error: unknown, type: ResourceType, informer: string) => void;
  /** Called when an informer works again after failures. */
  readonly onRecovered?: (type: ResourceType, informer: string) => void;
}

/** One informer per resource and selection, shared by all callers. */
export class InformerFactory implements AsyncDisposable {
  readonly #options: FactoryOptions;
  /** Set for a part: the factory that makes, starts and ends its informers. */
  #whole: InformerFactory | undefined;
  readonly #informers = new Map<string, Informer>();
  readonly #stop = new AbortController();
  #started = false;

  constructor(options: FactoryOptions) {
    this.#options = options;
  }

  /** The shared informer. It starts as soon as the factory runs. */
  informer<T extends KubeObject = KubeObject>(type: ResourceType, selection: InformerSelection = {}): Informer<T> {
    const { namespace, labelSelector, fieldSelector, metadataOnly } = selection;
    const key = JSON.stringify([type.group, type.version, type.resource, namespace, labelSelector, fieldSelector, metadataOnly === true]);
    const known = this.#informers.get(key);
    if (known !== undefined) return known as unknown as Informer<T>;
    if (this.#whole !== undefined) {
      const shared = this.#whole.informer<T>(type, selection);
      this.#informers.set(key, shared as unknown as Informer);
      return shared;
    }
    const { client, transform, idleTimeout, pageSize, onError, onRecovered } = this.#options;
    const handle = client.resource<T>(type).in(namespace);
    const made = new Informer<T>({
      resource: metadataOnly === true ? (handle.metadata() as unknown as typeof handle) : handle,
      oneWorkspace: !client.coversWorkspaces,
      labelSelector,
      fieldSelector,
      transform,
      idleTimeout,
      pageSize,
      ...(onError && { onError: (error) => onError(error, type, key) }),
      ...(onRecovered && { onRecovered: () => onRecovered(type, key) }),
    });
    this.#informers.set(key, made as unknown as Informer);
    if (this.#started) void made.start(this.#stop.signal);
    return made;
  }

  /**
   * The same informers, for one of several users: `synced` and `hasSynced` of a part are about those that were asked for through it, so that a user
   * does not wait for the objects of others. Starting and disposing are up to the whole.
   */
  part(): InformerFactory {
    const part = new InformerFactory(this.#options);
    part.#whole = this.#whole ?? this;
    return part;
  }

  /** The informers of a resource that were asked for, whatever their selection. */
  of(type: Pick<ResourceType, 'group' | 'resource'>): Informer[] {
    return [...this.#informers.values()].filter(({ resource }) => resource.group === type.group && resource.resource === type.resource);
  }

  start(): void {
    if (this.#whole !== undefined) return;
    this.#started = true;
    for (const informer of this.#informers.values()) void informer.start(this.#stop.signal);
  }

  get hasSynced(): boolean {
    for (const informer of this.#informers.values()) if (!informer.hasSynced) return false;
    return true;
  }

  async synced(signal?: AbortSignal): Promise<void> {
    await Promise.all([...this.#informers.values()].map((informer) => informer.synced(signal)));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#whole !== undefined) return;
    this.#stop.abort();
    if (this.#started) await Promise.all([...this.#informers.values()].map((informer) => informer.start(this.#stop.signal)));
  }
}

/** Managed fields are often half of an object, and few readers need them. */
export function dropManagedFields<T extends KubeObject>(object: T): T {
  delete object.metadata.managedFields;
  return object;
}
