import { rootCluster, type StoredKind, type User } from '@capstan/api';
import type { ObjectKey } from '@capstan/kinds';
import type { GroupResource, KubeObject } from '@capstan/machinery';
import type { Unparsed } from '../cache/reader.ts';
import type { Attributes } from './attributes.ts';
import type { RoleReader } from './grants.ts';

/** In-memory objects with the interface of the watch cache. For tests. */
export class MemoryObjects implements RoleReader {
  readonly #objects = new Map<string, { resource: string; cluster: string; namespace: string; object: KubeObject }>();
  readonly #generations = new Map<string, number>();
  lists = 0;
  /** The characters of the objects that were read by `unparsed` and `eachUnparsed`. */
  read = 0;

  put(resource: GroupResource, object: KubeObject, cluster = 'root'): this {
    const { name = '', namespace = '' } = object.metadata;
    this.#objects.set(this.#key({ ...resource, cluster, namespace, name }), { resource: resource.resource, cluster, namespace, object });
    this.#changed(resource);
    return this;
  }

  remove(at: { group: string; resource: string; cluster?: string; namespace?: string; name: string }): void {
    this.#objects.delete(this.#key({ cluster: rootCluster, namespace: '', ...at }));
    this.#changed(at);
  }

  get<T extends KubeObject = KubeObject>(at: ObjectKey<T>): T | undefined {
    return this.#objects.get(this.#key(at))?.object as T | undefined;
  }

  list<T extends KubeObject = KubeObject>({ resource }: StoredKind<T>, cluster: string, namespace?: string): T[] {
    this.lists++;
    return [...this.#objects.values()]
      .filter(
        (entry) => entry.resource === resource && entry.cluster === cluster && (namespace === undefined || entry.namespace === namespace),
      )
      .map(({ object }) => object as T);
  }

  unparsed(at: ObjectKey): Unparsed | undefined {
    const object = this.get(at);
    return object && this.#unparsed(object);
  }

  eachUnparsed(
    resource: StoredKind<KubeObject>,
    { cluster, namespace }: { readonly cluster: string; readonly namespace: string },
    visit: (object: Unparsed) => boolean,
  ): void {
    const byName = this.list(resource, cluster, namespace).sort((a, b) => (a.metadata.name! < b.metadata.name! ? -1 : 1));
    for (const object of byName) if (!visit(this.#unparsed(object))) return;
  }

  generation({ resource }: GroupResource): number {
    return this.#generations.get(resource) ?? 0;
  }

  #unparsed(object: KubeObject): Unparsed {
    const { length } = JSON.stringify(object);
    const read = (): KubeObject => {
      this.read += length;
      return object;
    };
    return { length, read };
  }

  #changed({ resource }: GroupResource): void {
    this.#generations.set(resource, this.generation({ group: '', resource }) + 1);
  }

  #key(at: { group: string; resource: string; cluster: string; namespace: string; name: string }): string {
    return [at.group, at.resource, at.cluster, at.namespace, at.name].join('\0');
  }
}

/** The attributes of a request, with defaults for those that a test does not set. */
export function asking(user: User, verb: string, more: Partial<Attributes> = {}): Attributes {
  return {
    cluster: rootCluster,
    user,
    verb,
    isResource: more.path === undefined,
    group: '',
    version: 'v1',
    resource: '',
    subresource: '',
    namespace: '',
    name: '',
    path: '',
    ...more,
  };
}
