import { type Allocation, allocationKind, type NodeBookingSpec, newObject } from '@capstan/api';
import { FleetIndex, type FleetNode, requestFor, runPass } from '@capstan/fleet';
import { beforeEach, expect, test } from 'vitest';
import type { Order, Promised } from '../stock/stockroom.ts';
import { DirectGrants } from './direct-grants.ts';
import { PassQuota } from './quota.ts';
import type { Place } from './tenants.ts';

const node: FleetNode = { name: 'n1', pool: '', labels: {}, cordoned: false, ready: 'True', cpu: 3_000, memory: 4 * 2 ** 30, gpus: [] };
const orderFor = (name: string, cpu = '2'): Order => ({
  cluster: 'c1',
  namespace: 'default',
  name,
  spec: { resources: { cpu, memory: '1Gi' }, nodes: 1, priority: 0 } as Order['spec'],
});
const allocationOf = ({ name, spec }: Order): Allocation =>
  newObject(allocationKind, { metadata: { name, namespace: 'default', uid: `uid-of-${name}` }, spec }) as Allocation;

let index: FleetIndex;
let booking: NodeBookingSpec;
let quota: PassQuota;
let isQuiet: boolean;
/** Somebody else writes the booking first. */
let isSlow: boolean;
let confirmed: string[];
let passes: number;
let direct: DirectGrants;
beforeEach(() => {
  index = new FleetIndex();
  index.setNode(node);
  booking = { entries: [] };
  quota = new PassQuota([]);
  [isQuiet, isSlow, confirmed, passes] = [true, false, [], 0];
  direct = new DirectGrants({
    fleet: { index, node: (name) => (name === 'n1' ? node : undefined) },
    tenants: { onlyPlace: { context: { client: undefined } } as unknown as Place },
    paths: { learn: async () => {}, pathOf: () => 'root:acme' },
    writer: {
      specOf: () => booking,
      write: async (_node, changes) => {
        if (isSlow) return false;
        for (const { change } of changes) {
          const next = change(booking);
          if (next.kind === 'write') booking = next.spec;
        }
        return true;
      },
    },
    quiet: () => (isQuiet ? quota : undefined),
    requestOf: (spec) => requestFor({ ...spec.resources, exclusive: false, strategy: 'Pack' }, spec),
    place: (waiting) =>
      runPass(index, {
        now: 0,
        rules: { holdAfter: 1, holdFor: 1, mostHolds: 0 },
        waiting: [waiting],
        holds: [],
        reservations: [],
        usage: new Map(),
        totals: { gpus: 0, cpu: node.cpu, memory: node.memory },
        weights: new Map(),
      }).grants[0],
    newAttempt: () => 'attempt-1',
    confirm: async ({ allocation }, attempt) => {
      confirmed.push(`${allocation.metadata.name} ${attempt.name}`);
      return allocation;
    },
    signal: () => new AbortController().signal,
    again: () => passes++,
    now: () => 0,
  });
});

const take = async (promised: Promised | undefined, order: Order): Promise<string | undefined> => {
  let on: string | undefined;
  const granted = await promised!.take(allocationOf(order), async (name) => void (on = name));
  return granted && on;
};

test('an order that nobody waits beside is booked, confirmed and told its node', async () => {
  const order = orderFor('one');
  {
    using promised = await direct.promise(order);
    expect(direct.isPromised(order)).toBe(true);
    expect(await take(promised, order)).toBe('n1');
  }
  expect(booking.entries).toMatchObject([
    { state: 'Granted', attempt: 'attempt-1', cpu: 2_000, allocation: { uid: 'uid-of-one', path: 'root:acme' } },
  ]);
  expect([confirmed, passes, direct.isPromised(order)]).toEqual([['one attempt-1'], 1, false]);
});

test('nobody else is promised the same, until the promise is given up', async () => {
  const [one, two] = [orderFor('one'), orderFor('two')];
  {
    using _promised = await direct.promise(one);
    expect(await direct.promise(one)).toBeUndefined();
    expect(await direct.promise(two)).toBeUndefined();
  }
  expect(await direct.promise(two)).toBeDefined();
});

test('an order takes its turn while others wait or a pass is due', async () => {
  isQuiet = false;
  expect(await direct.promise(orderFor('one'))).toBeUndefined();
});

test('a limit of the workspace holds, with everything that is promised', async () => {
  quota = new PassQuota([{ workspace: 'root:acme', limits: { cpu: '2' } } as never]);
  expect(await direct.promise(orderFor('large', '3'))).toBeUndefined();
  using _promised = await direct.promise(orderFor('one', '1500m'));
  expect(_promised).toBeDefined();
  expect(await direct.promise(orderFor('two', '1'))).toBeUndefined();
  const next = new PassQuota([{ workspace: 'root:acme', limits: { cpu: '2' } } as never]);
  direct.count(next);
  expect(next.admit('other', 'root:acme', { cpu: 1_000 })).toBeDefined();
});

test('an order goes to the queue if somebody else was faster', async () => {
  isSlow = true;
  const order = orderFor('one');
  {
    using promised = await direct.promise(order);
    expect(await take(promised, order)).toBeUndefined();
  }
  expect([booking.entries, confirmed, passes]).toEqual([[], [], 1]);
  isSlow = false;
  expect(await direct.promise(orderFor('two'))).toBeDefined();
});
