import type { JsonObject } from '@capstan/machinery';
import { type Fields, fieldsOf, itemsOf, stringMapOf, textOf } from '@capstan/machinery';

/** A pod or pod template, as the checks see it. */
export interface Pod {
  readonly annotations: Readonly<Record<string, string>>;
  readonly spec: Readonly<Fields>;
  readonly security: Readonly<Fields>;
  /** All containers in the order of reports: init containers, then regular ones, then ephemeral ones. */
  readonly containers: readonly Container[];
}

export interface Container {
  readonly name: string;
  readonly fields: Readonly<Fields>;
  readonly security: Readonly<Fields>;
}

export function podOf(template: Readonly<Fields> | Readonly<JsonObject>): Pod {
  const spec = fieldsOf(template['spec']);
  return {
    annotations: stringMapOf(fieldsOf(template['metadata'])['annotations']),
    spec,
    security: fieldsOf(spec['securityContext']),
    containers: [...itemsOf(spec['initContainers']), ...itemsOf(spec['containers']), ...itemsOf(spec['ephemeralContainers'])].map(
      (fields) => ({ name: textOf(fields['name']), fields, security: fieldsOf(fields['securityContext']) }),
    ),
  };
}

export function isWindows({ spec }: Pod): boolean {
  return fieldsOf(spec['os'])['name'] === 'windows';
}
