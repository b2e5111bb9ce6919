import { type ApiConversion, apiConversionKind, boundSchemasCluster } from '@capstan/api';
import { type Client, isAlreadyExists } from '@capstan/client';
import { ignoring } from '@capstan/controller';
import { sameJson } from '@capstan/machinery';

/**
 * Creates or updates the copy of an APIConversion. It has the name of the copy of its schema. It stays when the original is deleted: objects may have been
 * written by its rules.
 */
export async function keepConversion(
  client: Client,
  { rules, copy, name }: { rules: ApiConversion; copy: ApiConversion | undefined; name: string },
  signal: AbortSignal,
): Promise<void> {
  const { apiVersion, kind, spec } = rules;
  if (sameJson(copy?.spec, spec)) return;
  const copies = client.cluster(boundSchemasCluster).resource<ApiConversion>(apiConversionKind);
  if (copy !== undefined) {
    await copies.update({ ...copy, spec: spec! }, { signal });
    return;
  }
  await ignoring(copies.create({ apiVersion, kind, metadata: { name }, spec: spec! }, { signal }), isAlreadyExists);
}
