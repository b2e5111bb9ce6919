import { readFileSync } from 'node:fs';
import { workloadStrategies } from '@capstan/kinds';
import { contextOf, errorsOf } from '@capstan/kinds/testing';
import { isObject, type Json, type JsonObject, type KubeObject } from '@capstan/machinery';
import { describe, expect, test } from 'vitest';
import { tolerateTroubles } from './default-tolerations.ts';

/** The recorded response of kube-apiserver 1.34 to a merge patch: the changed object, or the errors. */
interface Recorded {
  readonly resource: string;
  readonly patch: JsonObject;
  readonly old: KubeObject;
  readonly object?: KubeObject;
  readonly errors?: string[];
}

const recorded = JSON.parse(
  readFileSync(new URL('../../../../kinds/src/fixtures/generated/updates.json', import.meta.url), 'utf8'),
) as Recorded[];
const cases = recorded.map((item) => ({ ...item, title: `${item.old.kind} ${JSON.stringify(item.patch)}` }));

function merged(target: Json, patch: Json): Json {
  if (!isObject(patch)) return patch;
  const result: JsonObject = isObject(target) ? { ...target } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key];
    else result[key] = merged(result[key] ?? null, value);
  }
  return result;
}

function updated({ resource, old, patch }: Recorded): { object: KubeObject; errors: string[] } {
  const strategy = workloadStrategies.get(resource)!;
  const object = structuredClone(merged(old as unknown as Json, patch)) as unknown as KubeObject;
  strategy.default?.(object);
  // The recorded pods got these from admission, too.
  if (resource === '/pods') tolerateTroubles(object);
  strategy.prepareForUpdate?.(object, old, contextOf());
  const errors = [...errorsOf(strategy, object), ...(strategy.validateUpdate?.(object, old, contextOf()) ?? [])];
  return { object, errors: errors.map((error) => `${error.field}: ${error.body}`) };
}

/** Go structs in messages, and changes in them, were not recorded. */
function withoutObjects(message: string): string {
  return message.split('\n', 1)[0]!.replace(/: \{.*\}: /, ': {…}: ');
}

/** Drops what the registry sets, and empty fields, whose presence depends on the codec. */
function comparable({ metadata, ...rest }: KubeObject): unknown {
  const { generation: _, ...kept } = metadata;
  return JSON.parse(
    JSON.stringify({ metadata: kept, ...rest }, (_key, value: unknown) => (Array.isArray(value) && value.length === 0 ? undefined : value)),
  );
}

describe('an update', () => {
  test.each(cases.filter((item) => item.errors !== undefined))('is rejected: $title', (item) => {
    expect(updated(item).errors.map(withoutObjects).sort()).toEqual(item.errors!.map(withoutObjects).sort());
  });

  test.each(cases.filter((item) => item.object !== undefined))('is accepted: $title', (item) => {
    const { object, errors } = updated(item);
    expect(errors).toEqual([]);
    expect(comparable(object)).toEqual(comparable(item.object!));
  });
});
