import type { Json, JsonObject, KubeObject, Status } from '@capstan/machinery/objects';
import {
  type ApplyOptions,
  type CallOptions,
  type DeleteOptions,
  type GetOptions,
  type List,
  type ListOptions,
  queryOf,
  type SelectOptions,
  type WatchEvent,
  type WatchOptions,
  type WriteOptions,
} from './options.ts';
import type { RestClient } from './rest-client.ts';
import type { Outgoing } from './transport.ts';
import { defaultIdleTimeout, followWatch, iterateWatch } from './watch.ts';

export interface ResourceType {
  /** Empty for the core group. */
  readonly group: string;
  readonly version: string;
  /** The plural, as in paths: `configmaps`. */
  readonly resource: string;
  readonly namespaced: boolean;
}

/** An object by name. */
export interface Target {
  readonly name: string;
  /** May be omitted if the handle has one. */
  readonly namespace?: string | undefined;
}

const patchTypes = {
  json: 'application/json-patch+json',
  merge: 'application/merge-patch+json',
  strategic: 'application/strategic-merge-patch+json',
} as const;

/** A JSON Patch is a list of operations; the others are partial objects. */
export type Patch =
  | { readonly type: 'json'; readonly patch: readonly JsonObject[] }
  | { readonly type: 'merge' | 'strategic'; readonly patch: JsonObject };

interface Scope {
  readonly namespace?: string | undefined;
  readonly metadataOnly?: boolean;
}

const partial = (kind: string): string => `application/json;as=${kind};g=meta.k8s.io;v=v1`;

/** The objects of one type: of the whole cluster, or of one namespace. */
export class Resource<T extends KubeObject = KubeObject> {
  readonly type: ResourceType;
  readonly namespace: string | undefined;
  readonly metadataOnly: boolean;
  readonly #client: RestClient;
  readonly #root: string;

  constructor(client: RestClient, type: ResourceType, scope: Scope) {
    this.type = type;
    this.namespace = scope.namespace;
    this.metadataOnly = scope.metadataOnly ?? false;
    this.#client = client;
    this.#root = type.group === '' ? `/api/${type.version}` : `/apis/${type.group}/${type.version}`;
  }

  in(namespace: string | undefined): Resource<T> {
    return new Resource<T>(this.#client, this.type, { namespace, metadataOnly: this.metadataOnly });
  }

  /** The same objects, but the server sends only their metadata. */
  metadata(): Resource<KubeObject> {
    return new Resource<KubeObject>(this.#client, this.type, { namespace: this.namespace, metadataOnly: true });
  }

  get(target: Target | string, options: GetOptions = {}): Promise<T> {
    return this.#client.json({
      method: 'GET',
      path: this.#path(target) + queryOf(options),
      headers: { accept: this.metadataOnly ? partial('PartialObjectMetadata') : 'application/json' },
      signal: options.signal,
    });
  }

  list(options: ListOptions = {}): Promise<List<T>> {
    return this.#client.json({
      method: 'GET',
      path: this.#collection(this.namespace) + queryOf(options),
      headers: { accept: this.metadataOnly ? partial('PartialObjectMetadataList') : 'application/json' },
      signal: options.signal,
    });
  }

  /** All objects, requested in pages, so that neither side handles one big response. */
  async *pages(options: Omit<ListOptions, 'continue'> = {}): AsyncGenerator<List<T>, void, undefined> {
    for (let token = ''; ; ) {
      // Every page after the first uses the revision of the first.
      const { resourceVersion: _, resourceVersionMatch: __, ...rest } = options;
      const page = await this.list(token === '' ? { limit: 500, ...options } : { limit: 500, ...rest, continue: token });
      yield page;
      token = page.metadata.continue ?? '';
      if (token === '') return;
    }
  }

  create(object: T, options: WriteOptions = {}): Promise<T> {
    const path = this.#collection(this.#namespaceOf(object)) + queryOf(options);
    return this.#client.json({ ...this.#write('POST', path, options), body: JSON.stringify(object) });
  }

  /** Replaces the object; rejected if it changed since it was read. */
  update(object: T, options: WriteOptions = {}): Promise<T> {
    return this.#put(object, '', options);
  }

  updateStatus(object: T, options: WriteOptions = {}): Promise<T> {
    return this.#put(object, '/status', options);
  }

  patch(target: Target | string, patch: Patch, options: WriteOptions & { readonly subresource?: string } = {}): Promise<T> {
    const path = this.#path(target) + below(options.subresource) + queryOf(options);
    const write = this.#write('PATCH', path, options);
    return this.#client.json({
      ...write,
      headers: { ...write.headers, 'content-type': patchTypes[patch.type] },
      body: JSON.stringify(patch.patch),
    });
  }

  /** Declares the fields of one manager; creates the object if missing. */
  apply(object: JsonObject | T, options: ApplyOptions & { readonly subresource?: string }): Promise<T> {
    const { name, namespace } = (object as T).metadata;
    const path = this.#path({ name: name ?? '', namespace }) + below(options.subresource) + queryOf(options);
    const write = this.#write('PATCH', path, options);
    return this.#client.json({
      ...write,
      repeatable: 'idempotent',
      headers: { ...write.headers, 'content-type': 'application/apply-patch+yaml' },
      body: JSON.stringify(object),
    });
  }

  /** Returns the object while finalizers keep it, and a `Status` when it is deleted. */
  delete(target: Target | string, options: DeleteOptions = {}): Promise<T | Status> {
    return this.#client.json(this.#delete(this.#path(target), options));
  }

  deleteCollection(select: SelectOptions = {}, options: DeleteOptions = {}): Promise<List<T> | Status> {
    return this.#client.json(this.#delete(this.#collection(this.namespace) + queryOf(select), { ...options, signal: select.signal }));
  }

  readSubresource<S = T>(target: Target | string, subresource: string, options: CallOptions = {}): Promise<S> {
    return this.#client.json({
      method: 'GET',
      path: this.#path(target) + below(subresource),
      headers: { accept: 'application/json' },
      signal: options.signal,
    });
  }

  /** `POST` creates something (a token, a binding), `PUT` replaces it (a scale). */
  writeSubresource<S = Json>(
    target: Target | string,
    { subresource, method, body, signal }: { subresource: string; method: 'POST' | 'PUT'; body: unknown; signal?: AbortSignal },
  ): Promise<S> {
    return this.#client.json({ ...this.#write(method, this.#path(target) + below(subresource), { signal }), body: JSON.stringify(body) });
  }

  /**
   * Changes from now on, or from `resourceVersion` on. Ends without an error when the server ends the watch: watch again from the last
   * version.
   */
  watch(options: WatchOptions = {}): AsyncGenerator<WatchEvent<T>, void, undefined> {
    return iterateWatch<T>(this.#client, this.#watch(options));
  }

  /** Like `watch`, but with a callback, which avoids a promise per event. Resolves when the server ends the watch. */
  follow(options: WatchOptions & { readonly onOpen?: () => void }, onEvent: (event: WatchEvent<T>) => void): Promise<void> {
    return followWatch<T>(this.#client, { ...this.#watch(options), onEvent, ...(options.onOpen && { onOpen: options.onOpen }) });
  }

  #watch(options: WatchOptions): { outgoing: Outgoing; idle: number } {
    const fixed = options.sendInitialEvents ? ['watch=true', 'resourceVersionMatch=NotOlderThan'] : ['watch=true'];
    const accept = this.metadataOnly ? partial('PartialObjectMetadata') : 'application/json';
    return {
      outgoing: {
        method: 'GET',
        path: this.#collection(this.namespace) + queryOf(options, fixed),
        headers: { accept },
        signal: options.signal,
      },
      idle: options.idleTimeout ?? defaultIdleTimeout,
    };
  }

  #put(object: T, suffix: string, options: WriteOptions): Promise<T> {
    const path = this.#path({ name: object.metadata.name ?? '', namespace: this.#namespaceOf(object) }) + suffix + queryOf(options);
    return this.#client.json({ ...this.#write('PUT', path, options), repeatable: 'idempotent', body: JSON.stringify(object) });
  }

  #write(method: string, path: string, { signal }: CallOptions): Outgoing {
    return { method, path, headers: { accept: 'application/json', 'content-type': 'application/json' }, signal };
  }

  #delete(path: string, { signal, dryRun, ...options }: DeleteOptions): Outgoing & { repeatable: 'idempotent' } {
    const body = { kind: 'DeleteOptions', apiVersion: 'v1', ...options, ...(dryRun && { dryRun: ['All'] }) };
    return { ...this.#write('DELETE', path, { signal }), repeatable: 'idempotent', body: JSON.stringify(body) };
  }

  #namespaceOf(object: T): string | undefined {
    return object.metadata.namespace ?? this.namespace;
  }

  #collection(namespace: string | undefined): string {
    const { resource, namespaced } = this.type;
    return namespaced && namespace !== undefined && namespace !== ''
      ? `${this.#root}/namespaces/${encodeURIComponent(namespace)}/${resource}`
      : `${this.#root}/${resource}`;
  }

  #path(target: Target | string): string {
    const { name, namespace = this.namespace } = typeof target === 'string' ? { name: target } : target;
    const { resource, namespaced } = this.type;
    if (name === '') throw new TypeError(`expected the name of one of the ${resource}, found an empty one`);
    if (namespaced && (namespace === undefined || namespace === '')) {
      throw new TypeError(`${resource} are namespaced: name the namespace of "${name}", or use in(namespace)`);
    }
    return `${this.#collection(namespace)}/${encodeURIComponent(name)}`;
  }
}

function below(subresource: string | undefined): string {
  return subresource === undefined || subresource === '' ? '' : `/${subresource}`;
}
