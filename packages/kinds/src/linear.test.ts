import {
  builtinResources,
  builtinTypes,
  type Json,
  type JsonObject,
  type KubeObject,
  type ObjectType,
  type Type,
  whole,
} from '@capstan/machinery';
import { describe, expect, it } from 'vitest';
import { printers } from './printers/printers.ts';
import { strategies } from './strategies.ts';
import type { Strategy } from './strategy.ts';
import { contextOf, errorsOf } from './testing/context.ts';

/**
 * A tenant's list may have a hundred thousand items, so nothing may take the square of its length. For each list and map of each built-in
 * kind, this counts the reads of everything that the server does with such an object, for three lengths.
 */
const lengths = [64, 128, 256] as const;

type Change = Pick<Strategy, 'prepareForUpdate' | 'validate' | 'validateObjectInParts' | 'validateUpdate' | 'validateInParts'>;
type Step = (strategy: Strategy, object: KubeObject, old: KubeObject) => void;

const update = (change: Change | undefined, object: KubeObject, old: KubeObject): void => {
  change?.prepareForUpdate?.(object, old, contextOf());
  if (change !== undefined) errorsOf(change, object);
  change?.validateUpdate?.(object, old, contextOf());
  checkInParts(change, object, old);
};

function checkInParts(change: Change | undefined, object: KubeObject, old: KubeObject | undefined): void {
  const parts = change?.validateInParts?.({ object, old, errors: [] }, contextOf());
  if (parts !== undefined) whole(parts);
}

const steps: Readonly<Record<string, Step>> = {
  default: ({ default: fill }, object) => fill?.(object),
  create: (strategy, object) => {
    strategy.prepareForCreate?.(object, contextOf());
    errorsOf(strategy, object);
    strategy.validateCreate?.(object, contextOf());
    checkInParts(strategy, object, undefined);
  },
  update,
  status: ({ status }, object, old) => update(status, object, old),
  subresources: ({ subresources }, object, old) => {
    for (const change of Object.values(subresources ?? {})) update(change, object, old);
  },
};

class Counter {
  reads = 0;
  readonly #watched = new WeakMap<object, object>();

  /** The same value, of which every read is counted. */
  watch<Value>(value: Value): Value {
    if (typeof value !== 'object' || value === null) return value;
    let watched = this.#watched.get(value);
    if (watched === undefined) {
      watched = new Proxy<object>(value, {
        get: (target, key) => this.watch(this.#count(Reflect.get(target, key) as unknown)),
        has: (target, key) => this.#count(Reflect.has(target, key)),
        getOwnPropertyDescriptor: (target, key) => this.#count(Reflect.getOwnPropertyDescriptor(target, key)),
      });
      this.#watched.set(value, watched);
      this.#watched.set(watched, watched);
    }
    return watched as Value;
  }

  #count<Value>(value: Value): Value {
    this.reads++;
    return value;
  }
}

type Path = readonly string[];

const podSpec = 'io.k8s.api.core.v1.PodSpec';
/** Templates of pods are validated alike. This kind adds volumes to its own. */
const kindWithTemplate = 'statefulsets';

/** The paths of all lists and maps in a type, which may be recursive. */
function* longPaths(type: Type, isSkipped: (name: string) => boolean, around: readonly ObjectType[] = []): Iterable<Path> {
  if (type.kind === 'list' || type.kind === 'map') {
    yield [];
    for (const path of longPaths(type.kind === 'list' ? type.items : type.values, isSkipped, around)) yield ['', ...path];
  } else if (type.kind === 'object' && !around.includes(type) && !isSkipped(type.name)) {
    for (const [name, field] of type.fields)
      if (name !== 'managedFields') for (const path of longPaths(field.type, isSkipped, [...around, type])) yield [name, ...path];
  }
}

/** A value with as many items as given at the path, and one at each list and map on the way. */
function valueWith(type: Type, path: Path | undefined, length: number): Json {
  const [step, ...rest] = path ?? [];
  const count = path?.length === 0 ? length : path === undefined ? 0 : 1;
  const items = Array.from({ length: count }, (_, index) => index);
  const inside = step === undefined ? undefined : rest;
  switch (type.kind) {
    case 'list':
      return items.map((index) => itemOf(type.items, inside, { index, length }));
    case 'map':
      return Object.fromEntries(items.map((index) => [`key-${index}`, itemOf(type.values, inside, { index, length })]));
    case 'object':
      return itemOf(type, path, { index: 0, length });
    default:
      return itemOf(type, undefined, { index: 0, length });
  }
}

/** All items are different. */
function itemOf(type: Type, path: Path | undefined, { index, length }: { index: number; length: number }): Json {
  if (type.kind === 'scalar') return scalars[type.scalar](index);
  if (type.kind === 'any') return { a: index };
  if (type.kind !== 'object') return valueWith(type, path, length);
  const object: JsonObject = {};
  for (const [name, field] of type.fields) {
    if (path?.[0] === name) object[name] = valueWith(field.type, path.slice(1), length);
    else if (field.type.kind === 'scalar') object[name] = scalars[field.type.scalar](index);
  }
  return object;
}

/** Texts are long, so that messages that show a list are soon cut, whatever its length. */
const longText = (index: number): string => `text-${index}-${'x'.repeat(100)}`;
const time = '2026-01-01T00:00:00';

const scalars: Readonly<Record<(Type & { kind: 'scalar' })['scalar'], (index: number) => Json>> = {
  string: longText,
  bytes: () => 'dGV4dA==',
  bool: () => true,
  int32: (index) => index + 1,
  int64: (index) => index + 1,
  double: (index) => index + 1,
  time: () => `${time}Z`,
  microTime: () => `${time}.000000Z`,
  duration: () => '1s',
  quantity: (index) => `${index + 1}`,
  intOrString: (index) => index + 1,
};

/** How often the step reads something of an object like this. */
function readsOf(step: Step, strategy: Strategy, make: () => KubeObject): number {
  const counter = new Counter();
  step(strategy, counter.watch(make()), counter.watch(make()));
  return counter.reads;
}

/** Whether twice the length takes clearly more than twice the reads. */
function isQuadratic(readsAt: (length: number) => number): boolean {
  const [short, medium] = [readsAt(lengths[0]), readsAt(lengths[1])];
  // Almost all lists end here.
  if (medium < 2.2 * short) return false;
  const long = readsAt(lengths[2]);
  return long - medium > 2.4 * (medium - short);
}

/** Everything that takes more reads than it should with an object of the kind. */
function quadraticSteps(name: string, make: (length: number) => KubeObject): string[] {
  const printer = printers.get(name);
  const all = { ...steps, table: (_: Strategy, object: KubeObject): void => void printer?.cells(object, new Date(0)) };
  const readsAt = (step: Step) => (length: number) => readsOf(step, strategies.get(name) ?? {}, () => make(length));
  return Object.entries(all).flatMap(([title, step]) => (isQuadratic(readsAt(step)) ? [title] : []));
}

const metadata = { name: 'a', namespace: 'default', uid: 'uid' };

const kinds = builtinResources()
  .map((info) => ({ ...info, name: `${info.group}/${info.resource}` }))
  .filter(({ name }) => strategies.has(name) || printers.has(name));

describe('the work for an object grows with the length of its lists and maps, and not with its square:', () => {
  it.each(kinds)(
    '$name',
    ({ name, typeName, kind, group, version, resource }) => {
      const type = builtinTypes().object(typeName);
      const apiVersion = group === '' ? version : `${group}/${version}`;
      const isSkipped = (inner: string): boolean => inner === podSpec && resource !== 'pods' && resource !== kindWithTemplate;
      const found: string[] = [];
      for (const path of longPaths(type, isSkipped)) {
        const make = (length: number): KubeObject => {
          const object = valueWith(type, path, length) as unknown as KubeObject;
          return { ...object, apiVersion, kind, metadata: { ...object.metadata, ...metadata } };
        };
        for (const step of quadraticSteps(name, make)) found.push(`${step}: ${path.join('.')}`);
      }
      expect(found).toEqual([]);
    },
    60_000,
  );

  const many = <Item>(length: number, make: (index: number) => Item): Item[] => Array.from({ length }, (_, index) => make(index));
  const named = (length: number): { name: string }[] => many(length, (index) => ({ name: `n${index}` }));
  const pod = (spec: object, more: object = {}): KubeObject => ({ apiVersion: 'v1', kind: 'Pod', metadata, spec, ...more }) as KubeObject;

  it.each<[string, string, (length: number) => KubeObject]>([
    [
      'mounts and devices of a container',
      '/pods',
      (length) => {
        const volumeMounts = many(length, (index) => ({ name: `m${index}`, mountPath: `/m${index}` }));
        const volumeDevices = many(length, (index) => ({ name: `d${index}`, devicePath: `/d${index}` }));
        return pod({ containers: [{ name: 'c', image: 'i', volumeMounts, volumeDevices }] });
      },
    ],
    [
      'profiles of containers, in annotations',
      '/pods',
      (length) => {
        const profiles = named(length).map(({ name }) => [`container.apparmor.security.beta.kubernetes.io/x${name}`, 'unconfined']);
        const annotations = Object.fromEntries(profiles) as Record<string, string>;
        return { ...pod({ containers: named(length) }), metadata: { ...metadata, annotations } };
      },
    ],
    [
      'init containers and their status',
      '/pods',
      (length) => {
        const initContainerStatuses = named(length).map((status) => ({ ...status, state: { terminated: { exitCode: 0 } } }));
        return pod({ initContainers: named(length).toReversed() }, { status: { initContainerStatuses } });
      },
    ],
    [
      'resource claims and their status',
      '/pods',
      (length) => pod({ resourceClaims: named(length).toReversed() }, { status: { resourceClaimStatuses: named(length) } }),
    ],
    [
      'containers that ended',
      '/pods',
      (length) => {
        const containerStatuses = named(length).map((status) => ({ ...status, state: { terminated: { exitCode: 0 } } }));
        return pod({ restartPolicy: 'Never', containers: named(length) }, { status: { containerStatuses } });
      },
    ],
    [
      'topologies',
      'storage.k8s.io/storageclasses',
      (length) => {
        const allowedTopologies = many(length, (index) => ({ matchLabelExpressions: [{ key: 'k', values: [`v${index}`] }] }));
        return { apiVersion: 'storage.k8s.io/v1', kind: 'StorageClass', metadata, allowedTopologies };
      },
    ],
    [
      'addresses and ports of endpoints',
      '/endpoints',
      (length) => {
        const subset = { addresses: many(length, (index) => ({ ip: `10.0.0.${index}` })), ports: many(length, (port) => ({ port })) };
        return { apiVersion: 'v1', kind: 'Endpoints', metadata, subsets: [subset] };
      },
    ],
    [
      'selectors of quotas',
      '/resourcequotas',
      (length) => {
        const matchExpressions = many(length, (index) => ({ scopeName: 'BestEffort', operator: 'Exists', values: [`v${index}`] }));
        const spec = { hard: { 'requests.storage': '1' }, scopeSelector: { matchExpressions } };
        return { apiVersion: 'v1', kind: 'ResourceQuota', metadata, spec };
      },
    ],
  ])('%s', (_what, name, make) => {
    expect(quadraticSteps(name, make)).toEqual([]);
  });
});

it('shows only the first of many endpoints, and counts all', () => {
  const subset = (addresses: number, ports: number): object => ({
    addresses: Array.from({ length: addresses }, (_, index) => ({ ip: `10.0.0.${index}` })),
    ports: Array.from({ length: ports }, (_, port) => ({ port })),
  });
  const cellOf = (...subsets: object[]): unknown =>
    printers.get('/endpoints')!.cells({ apiVersion: 'v1', kind: 'Endpoints', metadata, subsets }, new Date(0))[1];
  expect(cellOf(subset(20_000, 20_000))).toBe('10.0.0.0:0,10.0.0.1:0,10.0.0.2:0 + 399999997 more...');
  expect(cellOf(subset(1, 2), subset(2, 1))).toBe('10.0.0.0:0,10.0.0.0:1,10.0.0.0:0 + 1 more...');
  expect(cellOf(subset(2, 0), subset(0, 2))).toBe('10.0.0.0,10.0.0.1');
  expect([cellOf(), cellOf(subset(0, 1))]).toEqual(['<none>', '']);
});
