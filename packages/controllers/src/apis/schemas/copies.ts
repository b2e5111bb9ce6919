import { type Client, isAlreadyExists, isForbidden, isInvalid, isNotFound } from '@capstan/client';
import { type BoundResource, boundSchemasCluster, type ResourceSchema, schemaType } from '../kinds.ts';

/** How many schemas are remembered. They never change, so what is remembered is right. */
const capacity = 1_000;

/** Schemas as they are where they were made, and their copies, by which bound kinds are served even when the original is gone. */
export class SchemaCopies {
  readonly #read = new Map<string, ResourceSchema>();

  /** A provider's schema; undefined when it is not there. `uid` is what the informer knows: another one is another schema. */
  async original(
    client: Client,
    at: { cluster: string; name: string; uid: string | undefined; signal: AbortSignal },
  ): Promise<ResourceSchema | undefined> {
    const key = `${at.uid} ${at.cluster}/${at.name}`;
    const known = at.uid === undefined ? undefined : this.#read.get(key);
    if (known !== undefined) return known;
    const found = await unlessMissing(client.cluster(at.cluster).resource<ResourceSchema>(schemaType).get(at.name, { signal: at.signal }));
    if (found !== undefined) this.#remember(`${found.metadata.uid} ${at.cluster}/${at.name}`, found);
    return found;
  }

  /** The copy for a bound resource; undefined when there is none. */
  async copy(client: Client, bound: BoundResource, signal: AbortSignal): Promise<ResourceSchema | undefined> {
    const name = copyName(bound.schema.UID, bound);
    const known = this.#read.get(name);
    if (known !== undefined) return known;
    const found = await unlessMissing(client.cluster(boundSchemasCluster).resource<ResourceSchema>(schemaType).get(name, { signal }));
    if (found !== undefined) this.#remember(name, found);
    return found;
  }

  /** Makes the copy. Answers with what is wrong when the server refuses it. */
  async keep(client: Client, schema: ResourceSchema, signal: AbortSignal): Promise<string | undefined> {
    const { apiVersion, kind, metadata, spec } = schema;
    const { 'kcp.io/cluster': cluster = '', 'api-approved.kubernetes.io': approved } = metadata.annotations ?? {};
    const annotations = {
      'internal.apis.kcp.io/schema-cluster': cluster,
      'internal.apis.kcp.io/schema-name': metadata.name ?? '',
      ...(approved !== undefined && { 'api-approved.kubernetes.io': approved }),
    };
    const name = copyName(metadata.uid ?? '', { group: spec!.group, resource: spec!.names.plural });
    try {
      await client
        .cluster(boundSchemasCluster)
        .resource<ResourceSchema>(schemaType)
        .create({ apiVersion, kind, metadata: { name, annotations }, spec: spec! }, { signal });
    } catch (error) {
      if (isInvalid(error) || isForbidden(error)) return (error as Error).message;
      if (!isAlreadyExists(error)) throw error;
    }
    return undefined;
  }

  #remember(key: string, schema: ResourceSchema): void {
    if (this.#read.size >= capacity) this.#read.clear();
    this.#read.set(key, schema);
  }
}

/** The copy of a schema is called after the UID of the original. */
export const copyName = (uid: string, { group, resource }: { group: string; resource: string }): string =>
  `${uid}.${resource}.${group || 'core'}`;

export const uidOfCopy = (name: string): string => name.slice(0, name.indexOf('.'));

async function unlessMissing<T>(getting: Promise<T>): Promise<T | undefined> {
  try {
    return await getting;
  } catch (error) {
    if (isNotFound(error) || isForbidden(error)) return undefined;
    throw error;
  }
}
