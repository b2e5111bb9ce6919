import { builtinResources, builtinTypes, type Json, type KubeObject, type ObjectType, type Type, whole } from '@capstan/machinery';
import { expect, it } from 'vitest';
import { strategies } from './strategies.ts';
import type { Strategy } from './strategy.ts';
import { contextOf, errorsOf } from './testing/context.ts';

/**
 * A tenant's text may have a million parts. If each wrong part is an error that shows the whole text, the errors need gigabytes. So there are few about
 * one text, in each field of each built-in kind.
 */
const parts = 1_000;
const separators = [',', '/', '.'];
const mostErrors = 250;

type Path = readonly string[];

/** The paths of all texts in a type, which may be recursive. Templates of pods are all alike. */
function* textPaths(type: Type, around: readonly ObjectType[] = []): Iterable<Path> {
  if (type.kind === 'scalar' && type.scalar === 'string') yield [];
  else if (type.kind === 'list') for (const path of textPaths(type.items, around)) yield ['[]', ...path];
  else if (type.kind === 'map') for (const path of textPaths(type.values, around)) yield ['{}', ...path];
  else if (type.kind === 'object' && !around.includes(type))
    for (const [name, field] of type.fields)
      if (name !== 'managedFields' && name !== 'template')
        for (const path of textPaths(field.type, [...around, type])) yield [name, ...path];
}

function valueAt([step, ...rest]: Path, text: string): Json {
  if (step === undefined) return text;
  if (step === '[]') return [valueAt(rest, text)];
  return { [step === '{}' ? 'a' : step]: valueAt(rest, text) };
}

/** Undefined for an object that is refused before: others of its fields are missing. */
function countErrors(strategy: Strategy, object: KubeObject): number | undefined {
  try {
    strategy.default?.(object);
    const errors = [...errorsOf(strategy, object), ...(strategy.validateCreate?.(object, contextOf()) ?? [])];
    const inParts = strategy.validateInParts?.({ object, old: undefined, errors: [] }, contextOf());
    return errors.length + (inParts === undefined ? 0 : whole(inParts).length);
  } catch {
    return undefined;
  }
}

it('errors about one text are few, however many parts it has', () => {
  let checked = 0;
  const many: string[] = [];
  for (const { group, resource, kind, typeName } of builtinResources()) {
    const strategy = strategies.get(`${group}/${resource}`);
    if (strategy === undefined) continue;
    for (const path of textPaths(builtinTypes().object(typeName)))
      for (const separator of separators) {
        const metadata = { name: 'a', namespace: 'default' };
        const content = valueAt(path, separator.repeat(parts)) as object;
        const errors = countErrors(strategy, { apiVersion: 'v1', kind, metadata, ...content });
        if (errors !== undefined) checked++;
        if ((errors ?? 0) > mostErrors) many.push(`${resource}: ${path.join('.')}`);
      }
  }
  expect(many).toEqual([]);
  expect(checked).toBeGreaterThan(1_000);
});
