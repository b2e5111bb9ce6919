import { createHash } from 'node:crypto';
import type { KubeObject } from '@capstan/machinery/objects';
import type { KindDefinition } from '../definition/define-kind.ts';
import { resourceSchemaSpec } from '../definition/resource-schema.ts';
import { apiResourceSchemaKind } from '../kcp/apis.ts';

/** Long enough that two schemas of one kind never get the same name by chance. */
const hashLength = 12;

/** The APIResourceSchema of a kind. Schemas are immutable, so the name contains a hash of the content: new content is a new object. */
export function apiResourceSchema(definition: KindDefinition): KubeObject & { readonly metadata: { readonly name: string } } {
  const { group, resource } = definition;
  const spec = resourceSchemaSpec(definition);
  const hash = createHash('sha256').update(JSON.stringify(spec)).digest('hex').slice(0, hashLength);
  return {
    apiVersion: `${apiResourceSchemaKind.group}/${apiResourceSchemaKind.version}`,
    kind: apiResourceSchemaKind.kind,
    metadata: { name: `v${hash}.${resource}.${group}` },
    spec,
  };
}
