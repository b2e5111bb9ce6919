import { readFileSync } from 'node:fs';
import { defaultPrinter, printers, workloadStrategies } from '@capstan/kinds';
import { contextOf, errorsOf } from '@capstan/kinds/testing';
import { isObject, type KubeObject } from '@capstan/machinery';
import { loadAll } from 'js-yaml';
import { describe, expect, test } from 'vitest';
import type { AdmissionRequest } from '../../registry/admission.ts';
import { defaultTolerations } from './default-tolerations.ts';
import { priority } from './priority.ts';

/** The recorded result of kube-apiserver 1.34 for each fixture: the object in the response, and the row of `kubectl get`. */
interface Recorded {
  readonly resource: string;
  readonly object: KubeObject;
  readonly cells: unknown[];
}

const folder = new URL('../../../../kinds/src/fixtures/', import.meta.url);
const files = ['core', 'apps', 'batch', 'others'];
const cases = files.flatMap((file) => {
  const inputs = loadAll(readFileSync(new URL(`${file}.yaml`, folder), 'utf8')) as KubeObject[];
  const recorded = JSON.parse(readFileSync(new URL(`generated/${file}.json`, folder), 'utf8')) as Recorded[];
  return inputs.map((input, index) => ({ title: `${input.kind} ${input.metadata.name}`, input, recorded: recorded[index]! }));
});

/** Whether empty fields are present depends on the codec, not on the strategy. */
function withoutEmpty(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutEmpty);
  if (!isObject(value)) return value;
  const entries = Object.entries(value).map(([key, part]) => [key, withoutEmpty(part)] as const);
  return Object.fromEntries(
    entries.filter(([, part]) => part !== null && part !== '' && !(typeof part === 'object' && Object.keys(part as object).length === 0)),
  );
}

/** Applies the changes of admission that the recorded pods contain. */
function admitted(object: KubeObject): void {
  const request = { operation: 'CREATE', resource: { group: '', resource: 'pods' }, subresource: '', object, context: contextOf() };
  for (const plugin of [priority, defaultTolerations]) void plugin.mutate!(request as unknown as AdmissionRequest);
}

function created(input: KubeObject, resource: string): KubeObject {
  const object = structuredClone(input);
  object.metadata.uid = 'UID';
  const strategy = workloadStrategies.get(resource)!;
  strategy.default?.(object);
  if (resource === '/pods') admitted(object);
  strategy.prepareForCreate?.(object, contextOf());
  return object;
}

describe('every fixture', () => {
  test.each(cases)('is defaulted like in kube-apiserver: $title', ({ input, recorded }) => {
    const object = created(input, recorded.resource);
    const { uid: _, generation: _g, ...metadata } = object.metadata;
    const expected = structuredClone(recorded.object);
    if (object.kind === 'Service') {
      // Our IP allocation differs.
      for (const field of ['clusterIP', 'clusterIPs']) {
        (expected['spec'] as Record<string, unknown>)[field] = (object['spec'] as Record<string, unknown>)[field];
      }
    }
    if (object.kind === 'Node') delete (expected['status'] as Record<string, unknown>)['daemonEndpoints'];
    expect(withoutEmpty({ ...object, metadata })).toEqual(withoutEmpty(expected));
  });

  test.each(cases)('is accepted: $title', ({ input, recorded }) => {
    const object = created(input, recorded.resource);
    expect(errorsOf(workloadStrategies.get(recorded.resource)!, object)).toEqual([]);
  });

  test.each(cases)('is printed like in kube-apiserver: $title', ({ recorded }) => {
    const now = new Date('2026-01-01T00:00:00Z');
    const object = { ...recorded.object, metadata: { ...recorded.object.metadata, creationTimestamp: '2026-01-01T00:00:00Z' } };
    const printer = printers.get(recorded.resource) ?? defaultPrinter;
    expect(printer.cells(object, now)).toEqual(recorded.cells);
  });

  test.each(cases)('is unchanged by a second defaulting: $title', ({ input, recorded }) => {
    const strategy = workloadStrategies.get(recorded.resource)!;
    const once = structuredClone(input);
    strategy.default?.(once);
    const twice = structuredClone(once);
    strategy.default?.(twice);
    expect(twice).toEqual(once);
  });
});
