import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FleetIndex } from './fleet-index.ts';
import { type Booked, type Device, type FleetNode, labelOf, type PlacedPart } from './node.ts';
import type { PlacementRequest, Size } from './request.ts';

/** Usually absent: many constraints at once leave little to choose from. */
const maybe = <Value>(values: fc.Arbitrary<Value>): fc.Arbitrary<Value | undefined> => fc.option(values, { nil: undefined, freq: 2 });
const mostly = <Value>(usual: Value, ...rare: Value[]): fc.Arbitrary<Value> =>
  fc.oneof({ weight: 4, arbitrary: fc.constant(usual) }, { weight: 1, arbitrary: fc.constantFrom(...rare) });

const gpus = fc
  .array(
    fc.record({
      model: mostly('H100', 'A100'),
      memory: mostly(80, 40),
      nvlink: fc.constantFrom('a', 'b', undefined),
      numa: fc.nat(1),
      health: mostly<Device['health']>('Healthy', 'Degraded', 'Failed', 'Unknown'),
      migProfile: mostly<string | undefined>(undefined, '1g'),
    }),
    { maxLength: 5 },
  )
  .map((list) => list as Omit<Device, 'uuid'>[]);

const names = ['n0', 'n1', 'n2', 'n3', 'n4'];

const nodeNamed = (name: fc.Arbitrary<string>): fc.Arbitrary<FleetNode> =>
  fc
    .record({
      name,
      pool: mostly('p', 'q'),
      labels: fc.dictionary(fc.constantFrom('rack', 'zone'), fc.constantFrom('1', '2')),
      cordoned: mostly(false, true),
      ready: mostly<FleetNode['ready']>('True', 'False', 'Unknown'),
      cpu: fc.constantFrom(4, 8),
      memory: fc.constantFrom(4, 8),
      gpus,
    })
    .map((one): FleetNode => ({ ...one, gpus: one.gpus.map((gpu, at) => ({ ...gpu, uuid: `${one.name}-${at}` })) }));

const wish = fc
  .record({
    model: maybe(fc.constantFrom('A100', 'H100')),
    memory: maybe(fc.constantFrom(40, 80)),
    migProfile: mostly<string | undefined>(undefined, '1g'),
    nvlink: maybe(fc.constantFrom('required', 'preferred')),
  })
  .map((one) => one as Size['gpu']);
const share = fc.constantFrom<(number | 'share')[]>(0, 2, 'share');
const count = fc.nat(3);
const size: fc.Arbitrary<Size> = fc.oneof(
  fc.record({ kind: fc.constant('devices' as const), gpu: wish, count, cpu: share, memory: share }),
  fc.record({ kind: fc.constant('devices' as const), gpu: wish, count, cpu: share, memory: share }),
  fc.record({ kind: fc.constant('fraction' as const), gpu: wish, parts: fc.integer({ min: 1, max: 3 }) }),
  fc.record({ kind: fc.constant('node' as const), gpu: wish, count }),
);
const request = fc
  .record({
    size,
    nodes: fc.constantFrom(1, 1, 2, 3),
    topology: maybe(fc.record({ label: fc.constantFrom('rack', 'zone'), strength: fc.constantFrom('required', 'preferred') })),
    pools: maybe(fc.constantFrom(['p'], ['p', 'q'])),
    matchLabels: maybe(fc.constantFrom({}, { zone: '1' })),
    strategy: fc.constantFrom('pack', 'spread'),
  })
  .map((one) => one as PlacementRequest);

type Step =
  | { readonly do: 'node'; readonly node: FleetNode }
  | { readonly do: 'remove'; readonly name: string }
  | { readonly do: 'place'; readonly request: PlacementRequest }
  | { readonly do: 'free'; readonly at: number };
const change: fc.Arbitrary<Step> = fc.oneof(
  { weight: 1, arbitrary: fc.record({ do: fc.constant('node' as const), node: nodeNamed(fc.constantFrom(...names)) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('remove' as const), name: fc.constantFrom(...names) }) },
  { weight: 10, arbitrary: fc.record({ do: fc.constant('place' as const), request }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('free' as const), at: fc.nat(20) }) },
);
const fleet = fc.tuple(...names.map((name) => nodeNamed(fc.constant(name))));
const steps: fc.Arbitrary<Step[]> = fc
  .tuple(fleet, fc.array(change, { minLength: 5, maxLength: 30 }))
  .map(([nodes, changes]) => [...nodes.map((node) => ({ do: 'node' as const, node })), ...changes]);

/** A plain description of the fleet, which knows nothing about indexes. */
class Model {
  readonly nodes = new Map<string, FleetNode>();
  readonly booked: { owner: string; part: PlacedPart }[] = [];

  on(name: string): Booked[] {
    return this.booked.filter(({ part }) => part.node === name).map(({ part }) => part);
  }

  /** Whether the part may be given for the request, ignoring the other parts. */
  allows({ size: wanted, pools, matchLabels = {} }: PlacementRequest, part: PlacedPart): boolean {
    const home = this.nodes.get(part.node);
    if (home === undefined || home.cordoned || home.ready !== 'True') return false;
    if (pools !== undefined && !pools.includes(home.pool)) return false;
    if (Object.entries(matchLabels).some(([label, value]) => labelOf(home, label) !== value)) return false;
    const others = this.on(part.node);
    if (others.some(({ exclusive }) => exclusive) || (part.exclusive && others.length > 0)) return false;
    if (others.some(({ devices }) => devices.some((uuid) => part.devices.includes(uuid)))) return false;
    const sum = (what: 'cpu' | 'memory'): number => others.reduce((total, one) => total + one[what], part[what]);
    if (sum('cpu') > home.cpu || sum('memory') > home.memory) return false;
    const chosen = part.devices.map((uuid) => home.gpus.find((gpu) => gpu.uuid === uuid)!);
    if (chosen.some((gpu) => gpu === undefined || !works(gpu))) return false;
    return wanted.kind === 'node' ? part.exclusive === true : isSized(wanted, { home, chosen, part });
  }

  /** Every way to give a node's part; devices of one kind. */
  *options(wanted: PlacementRequest, home: FleetNode): Generator<{ part: PlacedPart; kind: string }> {
    const { gpu: wished } = wanted.size;
    const isPlain = wanted.size.kind !== 'fraction' && wanted.size.count === 0 && !wished.model && !wished.memory && !wished.migProfile;
    const kinds = Map.groupBy(home.gpus, kindOf);
    if (isPlain) kinds.clear();
    if (isPlain) kinds.set('', []);
    for (const [kind, members] of kinds) {
      if (!isPlain && !members.every((gpu) => isWished(gpu, wished))) continue;
      for (const chosen of subsets(members)) {
        const part = partOf(wanted.size, { home, members, chosen });
        if (part !== undefined && this.allows(wanted, part) && isLinked(wanted.size, chosen)) yield { part, kind };
      }
    }
  }

  /** The sets of nodes that could answer, by kind and by the value of the required label. */
  hasAnswer(wanted: PlacementRequest): boolean {
    const found = new Map<string, Set<string>>();
    for (const home of this.nodes.values()) {
      const { topology } = wanted;
      const isBound = wanted.nodes > 1 && topology?.strength === 'required';
      const value = isBound ? labelOf(home, topology.label) : '';
      if (value === undefined) continue;
      for (const { kind } of this.options(wanted, home)) {
        const key = `${kind} ${value}`;
        found.set(key, (found.get(key) ?? new Set()).add(home.name));
      }
    }
    return found.values().some((homes) => homes.size >= wanted.nodes);
  }
}

const works = ({ health }: Device): boolean => ['Healthy', 'Degraded'].includes(health);

const kindOf = ({ model, memory, migProfile }: Device): string => `${model} ${memory} ${migProfile ?? ''}`;

const isWished = (gpu: Device, wanted: Size['gpu']): boolean =>
  (wanted.model ?? gpu.model) === gpu.model && (wanted.memory ?? 0) <= gpu.memory && wanted.migProfile === gpu.migProfile;

function isLinked(wanted: Size, chosen: readonly Device[]): boolean {
  return wanted.gpu.nvlink !== 'required' || chosen.length < 2 || chosen.every(({ nvlink }) => nvlink && nvlink === chosen[0]!.nvlink);
}

function isSized(wanted: Size, { home, chosen, part }: { home: FleetNode; chosen: readonly Device[]; part: PlacedPart }): boolean {
  if (!chosen.every((gpu) => isWished(gpu, wanted.gpu) && kindOf(gpu) === kindOf(chosen[0]!)) || !isLinked(wanted, chosen)) return false;
  const members = home.gpus.filter((gpu) => chosen[0] !== undefined && kindOf(gpu) === kindOf(chosen[0]));
  const expected = partOf(wanted, { home, members, chosen });
  return expected !== undefined && expected.cpu === part.cpu && expected.memory === part.memory;
}

/** The part with these devices, if there are as many as the size means on this node. */
function partOf(
  wanted: Size,
  { home, members, chosen }: { home: FleetNode; members: readonly Device[]; chosen: readonly Device[] },
): PlacedPart | undefined {
  const devices = chosen.map(({ uuid }) => uuid);
  if (wanted.kind === 'node') {
    const healthy = home.gpus.filter(works).map(({ uuid }) => uuid);
    return chosen.length === wanted.count
      ? { node: home.name, devices: healthy, cpu: home.cpu, memory: home.memory, exclusive: true }
      : undefined;
  }
  if (wanted.kind === 'fraction') {
    const { parts } = wanted;
    if (chosen.length === 0 || chosen.length * parts !== members.length) return undefined;
    return { node: home.name, devices, cpu: Math.floor(home.cpu / parts), memory: Math.floor(home.memory / parts) };
  }
  if (chosen.length !== wanted.count) return undefined;
  const amount = (asked: number | 'share', whole: number): number =>
    asked === 'share' ? (chosen.length === 0 ? 0 : Math.floor((whole * chosen.length) / home.gpus.length)) : asked;
  return { node: home.name, devices, cpu: amount(wanted.cpu, home.cpu), memory: amount(wanted.memory, home.memory) };
}

function* subsets(list: readonly Device[]): Generator<Device[]> {
  for (let bits = 0; bits < 2 ** list.length; bits++) {
    const chosen = list.filter((_, at) => bits & (2 ** at));
    if (chosen.every(works)) yield chosen;
  }
}

/** Takes the steps on the index and on the model, and lets `onPlace` compare each answer. */
function play(list: readonly Step[], onPlace: (model: Model, index: FleetIndex, request: PlacementRequest) => void): void {
  const model = new Model();
  const index = new FleetIndex();
  for (const [at, step] of list.entries()) {
    if (step.do === 'node') {
      // A booked device does not vanish from its node: the node would have to be emptied first.
      if (model.on(step.node.name).length > 0) continue;
      model.nodes.set(step.node.name, step.node);
      index.setNode(step.node);
    } else if (step.do === 'remove') {
      model.nodes.delete(step.name);
      index.removeNode(step.name);
    } else if (step.do === 'free') {
      const [freed] = model.booked.splice(step.at % (model.booked.length || 1), 1);
      if (freed !== undefined) index.free(freed.owner, freed.part.node);
    } else {
      onPlace(model, index, step.request);
      for (const part of index.find(step.request)?.parts ?? []) {
        index.book(`owner-${at}`, part);
        model.booked.push({ owner: `owner-${at}`, part });
      }
    }
  }
}

describe('placement', () => {
  it('gives only answers that satisfy the request, and a shortage only if there is none', () => {
    fc.assert(
      fc.property(steps, (list) =>
        play(list, (model, index, wanted) => {
          const result = index.place(wanted);
          expect(result.kind === 'placed').toBe(model.hasAnswer(wanted));
          if (result.kind === 'short') {
            expect(result.message).not.toBe('');
            return;
          }
          const { parts } = result;
          expect(new Set(parts.map((part) => part.node)).size).toBe(wanted.nodes);
          for (const part of parts) expect(model.allows(wanted, part)).toBe(true);
          const { topology } = wanted;
          if (wanted.nodes > 1 && topology?.strength === 'required') {
            const [value, ...others] = new Set(parts.map((part) => labelOf(model.nodes.get(part.node)!, topology.label)));
            expect(value).toBeDefined();
            expect(others).toEqual([]);
          }
        }),
      ),
      { numRuns: 1_000 },
    );
  });

  it('counts in a shortage the nodes that could be used alone', () => {
    fc.assert(
      fc.property(steps, (list) =>
        play(list, (model, index, wanted) => {
          const result = index.place(wanted);
          if (result.kind === 'placed') return;
          const alone = model.nodes.values().filter((home) => !model.options(wanted, home).next().done);
          expect(result.sufficient).toBe([...alone].length);
          const removed = Object.values(result.removed).reduce((sum, nodes) => sum + nodes, 0);
          expect(removed + result.sufficient).toBe(model.nodes.size);
        }),
      ),
      { numRuns: 200 },
    );
  });

  it('depends only on the nodes and bookings, not on the order in which they came', () => {
    fc.assert(
      fc.property(steps, (list) =>
        play(list, (model, index, wanted) => {
          const fresh = new FleetIndex();
          for (const { owner, part } of model.booked.toReversed()) fresh.book(owner, part);
          for (const home of [...model.nodes.values()].reverse()) fresh.setNode(home);
          expect(fresh.place(wanted)).toEqual(index.place(wanted));
        }),
      ),
      { numRuns: 200 },
    );
  });
});
