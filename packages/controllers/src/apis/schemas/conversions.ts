import { isDeepStrictEqual } from 'node:util';
import { type Client, isAlreadyExists } from '@capstan/client';
import { boundSchemasCluster, type Conversion, conversionType } from '../kinds.ts';

/**
 * Makes the copy of an APIConversion what its original says. It is called as the copy of the schema that it belongs to. When the original goes the copy stays:
 * objects may have been written by its rules.
 */
export async function keepConversion(
  client: Client,
  { rules, copy, name }: { rules: Conversion; copy: Conversion | undefined; name: string },
  signal: AbortSignal,
): Promise<void> {
  const { apiVersion, kind, spec } = rules;
  if (isDeepStrictEqual(copy?.spec, spec)) return;
  const copies = client.cluster(boundSchemasCluster).resource<Conversion>(conversionType);
  if (copy !== undefined) {
    await copies.update({ ...copy, spec: spec! }, { signal });
    return;
  }
  try {
    await copies.create({ apiVersion, kind, metadata: { name }, spec: spec! }, { signal });
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
  }
}
