import { readFileSync } from 'node:fs';
import type { KubeObject } from '@capstan/machinery';
import { loadAll } from 'js-yaml';
import { describe, expect, test } from 'vitest';
import { contextOf, errorsOf } from './testing/context.ts';
import { workloadStrategies } from './workloads.ts';

const folder = new URL('./fixtures/', import.meta.url);
const inputs = loadAll(readFileSync(new URL('refused.yaml', folder), 'utf8')) as KubeObject[];
/** The errors that kube-apiserver 1.34 reported for each object. */
const recorded = JSON.parse(readFileSync(new URL('generated/refused.json', folder), 'utf8')) as { resource: string; errors: string[] }[];
const cases = inputs.map((input, index) => ({ title: `${input.kind} ${input.metadata.name}`, input, ...recorded[index]! }));

describe('validation reports the errors of kube-apiserver for', () => {
  test.each(cases)('$title', ({ input, resource, errors }) => {
    const strategy = workloadStrategies.get(resource)!;
    const object = structuredClone(input);
    object.metadata.uid = 'UID';
    strategy.default?.(object);
    strategy.prepareForCreate?.(object, contextOf());
    const found = [...errorsOf(strategy, object), ...(strategy.validateCreate?.(object, contextOf()) ?? [])];
    expect(found.map((error) => `${error.field}: ${error.body}`).sort()).toEqual(errors.toSorted());
  });
});
