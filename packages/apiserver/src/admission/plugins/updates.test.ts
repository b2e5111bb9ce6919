import { readFileSync } from 'node:fs';
import { workloadStrategies } from '@capstan/kinds';
import { contextOf } from '@capstan/kinds/testing';
import { isObject, type Json, type JsonObject, type KubeObject } from '@capstan/machinery';
import { describe, expect, test } from 'vitest';
import { tolerateTroubles } from './default-tolerations.ts';

/** What kube-apiserver 1.34 answered to a merge patch: the changed object, or what is wrong with the change. */
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
  // Admission gave it to the recorded ones, too.
  if (resource === '/pods') tolerateTroubles(object);
  strategy.prepareForUpdate?.(object, old, contextOf());
  const errors = [...(strategy.validate?.(object, contextOf()) ?? []), ...(strategy.validateUpdate?.(object, old, contextOf()) ?? [])];
  return { object, errors: errors.map((error) => `${error.field}: ${error.body}`) };
}

/** Structures of Go inside messages, and what changed in them, were not recorded. */
function withoutObjects(message: string): string {
  return message.split('\n', 1)[0]!.replace(/: \{.*\}: /, ': {…}: ');
}

/** The registry's part, and what only the codec decides: whether empty fields are written. */
function comparable({ metadata, ...rest }: KubeObject): unknown {
  const { generation: _, ...kept } = metadata;
  return JSON.parse(
    JSON.stringify({ metadata: kept, ...rest }, (_key, value: unknown) => (Array.isArray(value) && value.length === 0 ? undefined : value)),
  );
}

describe('an update', () => {
  test.each(cases.filter((item) => item.errors !== undefined))('is refused: $title', (item) => {
    expect(updated(item).errors.map(withoutObjects).sort()).toEqual(item.errors!.map(withoutObjects).sort());
  });

  test.each(cases.filter((item) => item.object !== undefined))('is accepted: $title', (item) => {
    const { object, errors } = updated(item);
    expect(errors).toEqual([]);
    expect(comparable(object)).toEqual(comparable(item.object!));
  });
});
