import { type ApiResourceSchema, apiResourceSchemaKind, type BoundResource, boundSchemasCluster } from '@capstan/api';
import { type Client, isAlreadyExists, isForbidden, isInvalid, isNotFound } from '@capstan/client';
import { ignoring } from '@capstan/controller';
import { BoundedMap } from '@capstan/machinery';

/** How many schemas are remembered. They never change. */
const capacity = 1_000;

/** The schemas of providers, and their copies, from which bound kinds are served even if the original is gone. */
export class SchemaCopies {
  readonly #read = new BoundedMap<string, ApiResourceSchema>(capacity);

  /** A provider's schema; undefined if it does not exist. `uid` is the one that the informer knows: a schema with another uid is another schema. */
  async original(
    client: Client,
    at: { cluster: string; name: string; uid: string | undefined; signal: AbortSignal },
  ): Promise<ApiResourceSchema | undefined> {
    const key = `${at.uid} ${at.cluster}/${at.name}`;
    const known = at.uid === undefined ? undefined : this.#read.get(key);
    if (known !== undefined) return known;
    const found = await ignoring(
      client.cluster(at.cluster).resource<ApiResourceSchema>(apiResourceSchemaKind).get(at.name, { signal: at.signal }),
      isNotFound,
      isForbidden,
    );
    if (found !== undefined) this.#read.set(`${found.metadata.uid} ${at.cluster}/${at.name}`, found);
    return found;
  }

  /** The copy for a bound resource; undefined if there is none. */
  async copy(client: Client, bound: BoundResource, signal: AbortSignal): Promise<ApiResourceSchema | undefined> {
    const name = copyName(bound.schema.UID, bound);
    const known = this.#read.get(name);
    if (known !== undefined) return known;
    const found = await ignoring(
      client.cluster(boundSchemasCluster).resource<ApiResourceSchema>(apiResourceSchemaKind).get(name, { signal }),
      isNotFound,
      isForbidden,
    );
    if (found !== undefined) this.#read.set(name, found);
    return found;
  }

  /** Creates the copy, unless it exists. Returns the reason if the server rejects it. */
  async keep(client: Client, schema: ApiResourceSchema, signal: AbortSignal): Promise<string | undefined> {
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
        .resource<ApiResourceSchema>(apiResourceSchemaKind)
        .create({ apiVersion, kind, metadata: { name, annotations }, spec: spec! }, { signal });
    } catch (error) {
      if (isInvalid(error) || isForbidden(error)) return (error as Error).message;
      if (!isAlreadyExists(error)) throw error;
    }
    return undefined;
  }
}

/** The name of a copy begins with the UID of the original. */
export const copyName = (uid: string, { group, resource }: { group: string; resource: string }): string =>
  `${uid}.${resource}.${group || 'core'}`;

export const uidOfCopy = (name: string): string => name.slice(0, name.indexOf('.'));
