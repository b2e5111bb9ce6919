import type { ApiExport, KindDefinition } from '@capstan/api';
import { apiResourceSchema } from '@capstan/api/hashes';
import type { KubeObject } from '@capstan/machinery';
import type { Product } from '../product.ts';
import { exportName } from './names.ts';
import { boundByPlatform } from './objects.ts';

/** The actions available to the step, in root:platform. */
export interface SchemaActions {
  /** The metadata of all APIResourceSchemas. */
  readonly schemas: () => Promise<readonly KubeObject[]>;
  readonly exports: () => Promise<readonly ApiExport[]>;
  /** The names of the schemas that bindings to an export have in any workspace. */
  readonly boundSchemas: (exported: string) => Promise<ReadonlySet<string>>;
  readonly deleteSchema: (schema: KubeObject) => Promise<unknown>;
}

/**
 * Deletes the schemas of earlier releases that no export names and no binding has. The last of each kind stays, for a rollback. A release that is older than that one creates
 * its own again.
 */
export async function deleteSuperseded(products: readonly Product[], actions: SchemaActions): Promise<void> {
  const [schemas, exports] = [await actions.schemas(), await actions.exports()];
  const named = new Set(exports.flatMap(({ spec }) => (spec?.resources ?? []).map(({ schema }) => schema)));
  for (const product of products) {
    const superfluous = product.kinds
      .flatMap((kind) => former(kind, schemas).slice(1))
      .filter(({ metadata }) => !named.has(metadata.name!));
    // There are none but after an upgrade, so that bindings, of which there are many, are seldom read.
    if (superfluous.length === 0) continue;
    const bound = await boundIn(product, actions);
    for (const schema of superfluous) if (!bound.has(schema.metadata.name!)) await actions.deleteSchema(schema);
  }
}

/** The schemas of a kind in other releases, the youngest first. */
function former(kind: KindDefinition, schemas: readonly KubeObject[]): KubeObject[] {
  const current = apiResourceSchema(kind).metadata.name;
  const [, ...rest] = current.split('.');
  const [length, ending] = [current.length, `.${rest.join('.')}`];
  return schemas
    .filter(
      ({ metadata: { name = '' } }) => name !== current && name.length === length && /^v[0-9a-f]+\./.test(name) && name.endsWith(ending),
    )
    .toSorted((one, other) => createdAt(other) - createdAt(one) || revisionOf(other) - revisionOf(one));
}

const createdAt = ({ metadata }: KubeObject): number => Date.parse(metadata.creationTimestamp ?? '');
/** Schemas never change, so this is the revision of their creation: times are in seconds. */
const revisionOf = ({ metadata }: KubeObject): number => Number(metadata.resourceVersion);

async function boundIn(product: Product, { boundSchemas }: SchemaActions): Promise<ReadonlySet<string>> {
  const names = new Set([exportName(product), boundByPlatform(product)?.export ?? exportName(product)]);
  const found = await Promise.all([...names].map(boundSchemas));
  return new Set(found.flatMap((one) => [...one]));
}
