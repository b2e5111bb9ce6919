import type { User } from '@capstan/api';
import type { StatusError } from '@capstan/machinery';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { asking, MemoryObjects } from '../authz/testing.ts';
import { bootstrapObjects } from '../bootstrap/objects.ts';
import { repairs } from '../bootstrap/reconcile.ts';
import { flowClassifier } from './classifier.ts';
import { InFlight } from './in-flight.ts';
import { lineOf } from './line.ts';
import { OpenCount } from './open-count.ts';

const jane: User = { name: 'jane', groups: [] };
const joe: User = { name: 'joe', groups: [] };
const admin: User = { name: 'admin', groups: ['system:masters'] };

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const settled = async (): Promise<void> => void (await vi.advanceTimersByTimeAsync(0));

describe('requests in flight', () => {
  it('start at once while there is room, separately for each class', () => {
    const limits = new InFlight({ readonly: 2, mutating: 1 });
    expect([
      limits.enter(jane.name, jane, 'readonly'),
      limits.enter(jane.name, jane, 'readonly'),
      limits.enter(jane.name, jane, 'mutating'),
    ]).toEqual([undefined, undefined, undefined]);
    expect(limits.enter(jane.name, jane, 'readonly')).toBeInstanceOf(Promise);
    expect(limits.state).toMatchObject({ running: { readonly: 2, mutating: 1 }, waiting: 1 });
  });

  it('wait in line, and users take turns', async () => {
    const limits = new InFlight({ mutating: 1 });
    const order: string[] = [];
    void limits.enter(jane.name, jane, 'mutating');
    for (let index = 0; index < 3; index++) void limits.enter(jane.name, jane, 'mutating')!.then(() => order.push(`jane ${index}`));
    void limits.enter(joe.name, joe, 'mutating')!.then(() => order.push('joe'));
    for (const { name } of [jane, jane, joe, jane]) {
      limits.leave(name, 'mutating');
      await settled();
    }
    expect(order).toEqual(['jane 0', 'joe', 'jane 1', 'jane 2']);
    limits.leave(jane.name, 'mutating');
    expect(limits.state).toMatchObject({ running: { mutating: 0 }, waiting: 0 });
  });

  it('do not overtake waiting requests', async () => {
    const limits = new InFlight({ mutating: 1 });
    void limits.enter(jane.name, jane, 'mutating');
    const waiting = limits.enter(joe.name, joe, 'mutating');
    limits.leave(jane.name, 'mutating');
    expect(limits.enter(jane.name, jane, 'mutating')).toBeInstanceOf(Promise);
    await expect(waiting).resolves.toBeUndefined();
  });

  it('all succeed when a thousand clients of one user connect at once', async () => {
    const limits = new InFlight();
    let done = 0;
    const request = async (): Promise<void> => {
      await limits.enter(jane.name, jane, 'mutating');
      await Promise.resolve();
      limits.leave(jane.name, 'mutating');
      done++;
    };
    await Promise.all(Array.from({ length: 1000 }, request));
    expect([done, limits.state]).toEqual([1000, { running: { readonly: 0, mutating: 0 }, waiting: 0, rejected: 0 }]);
  });

  it('are rejected when too many wait, for one user or in total', () => {
    const limits = new InFlight({ mutating: 1, maxWaitingPerLine: 2, maxWaiting: 3 });
    for (let index = 0; index < 3; index++) void limits.enter(jane.name, jane, 'mutating');
    expect(() => limits.enter(jane.name, jane, 'mutating')).toThrow(/too many requests/);
    void limits.enter(joe.name, joe, 'mutating');
    const third: User = { name: 'max', groups: [] };
    expect(() => limits.enter(third.name, third, 'mutating')).toThrow(/too many requests/);
    expect(limits.state.rejected).toBe(2);
  });

  it('of a few tenants leave room in the queue for all others', async () => {
    const limits = new InFlight({ mutating: 1, maxWaiting: 1000, maxWaitingPerLine: 500 });
    const refused = new Map<string, number>();
    const enter = (line: string): void => {
      try {
        void limits.enter(line, jane, 'mutating');
      } catch {
        refused.set(line, (refused.get(line) ?? 0) + 1);
      }
    };
    for (let at = 0; at < 1000; at++) for (const greedy of ['/a', '/b', '/c']) enter(greedy);
    for (let at = 0; at < 100; at++) enter(`/small-${at}`);
    expect([...refused.keys()].sort()).toEqual(['/a', '/b', '/c']);
  });

  it('of one tenant that never end leave places for all others', async () => {
    const limits = new InFlight({ mutating: 200 });
    const greedy = Array.from({ length: 1000 }, () => limits.enter('/greedy', jane, 'mutating'));
    expect(greedy.filter((wait) => wait === undefined).length).toBe(150);
    for (let at = 0; at < 1000; at++) {
      expect(limits.enter(`/small-${at % 60}`, joe, 'mutating')).toBeUndefined();
      limits.leave(`/small-${at % 60}`, 'mutating');
    }
    limits.leave('/greedy', 'mutating');
    await expect(greedy[150]).resolves.toBeUndefined();
    expect(limits.state).toMatchObject({ running: { mutating: 150 }, waiting: 849 });
  });

  it('are rejected with a retry time when they have waited too long', async () => {
    const limits = new InFlight({ mutating: 1, maxWaitMilliseconds: 1000 });
    void limits.enter(jane.name, jane, 'mutating');
    const error = limits.enter(jane.name, jane, 'mutating')!.catch((reason: StatusError) => reason.status);
    await vi.advanceTimersByTimeAsync(500);
    const later = limits.enter(joe.name, joe, 'mutating')!;
    await vi.advanceTimersByTimeAsync(750);
    expect(await error).toMatchObject({ code: 429, reason: 'TooManyRequests', details: { retryAfterSeconds: 1 } });
    limits.leave(jane.name, 'mutating');
    await expect(later).resolves.toBeUndefined();
    expect(limits.state).toEqual({ running: { readonly: 0, mutating: 1 }, waiting: 0, rejected: 1 });
  });

  it('leave no timer running when none is waiting', async () => {
    const limits = new InFlight({ mutating: 1, maxWaitMilliseconds: 1000 });
    void limits.enter(jane.name, jane, 'mutating');
    void limits.enter(jane.name, jane, 'mutating');
    limits.leave(jane.name, 'mutating');
    await vi.advanceTimersByTimeAsync(300);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('of system:masters skip the queue, up to the absolute limit', () => {
    const limits = new InFlight({ mutating: 1, readonly: 1, absolute: 4 });
    void limits.enter(jane.name, jane, 'mutating');
    void limits.enter(jane.name, jane, 'mutating');
    void limits.enter(jane.name, jane, 'readonly');
    expect([limits.enter(admin.name, admin, 'mutating'), limits.enter(admin.name, admin, 'mutating')]).toEqual([undefined, undefined]);
    expect(limits.enter(admin.name, admin, 'mutating')).toBeInstanceOf(Promise);
  });

  it('of system:masters start in an idle class, however busy the other one is', () => {
    const limits = new InFlight({ mutating: 1, readonly: 1, absolute: 2 });
    for (let index = 0; index < 2; index++) void limits.enter(admin.name, admin, 'readonly');
    expect(limits.enter(admin.name, admin, 'mutating')).toBeUndefined();
  });

  it('never exceed the limit, are never lost, and start in order of arrival for each user', async () => {
    const step = fc.oneof(fc.record({ user: fc.constantFrom('a', 'b', 'c') }), fc.constant('leave' as const));
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 200 }), fc.integer({ min: 1, max: 4 }), async (steps, capacity) => {
        const limits = new InFlight({ readonly: capacity });
        const started = new Map<string, number[]>();
        const arrived = new Map<string, number>();
        const running: string[] = [];
        const leave = async (): Promise<void> => {
          limits.leave(running.shift()!, 'readonly');
          await settled();
        };
        for (const one of steps) {
          if (one === 'leave') {
            if (running.length > 0) await leave();
          } else {
            const number = (arrived.get(one.user) ?? 0) + 1;
            arrived.set(one.user, number);
            const note = (): void => {
              running.push(one.user);
              started.set(one.user, [...(started.get(one.user) ?? []), number]);
            };
            const wait = limits.enter(one.user, { name: one.user, groups: [] }, 'readonly');
            if (wait === undefined) note();
            else void wait.then(note);
          }
          await settled();
          expect(limits.state.running.readonly).toBeLessThanOrEqual(capacity);
          if (limits.state.waiting > 0) expect(limits.state.running.readonly).toBeGreaterThanOrEqual(capacity * 0.75);
        }
        while (running.length > 0) await leave();
        for (const [user, count] of arrived) expect(started.get(user)).toEqual(Array.from({ length: count }, (_, index) => index + 1));
      }),
    );
  });
});

describe('open watches', () => {
  it('are limited per user and in total', () => {
    const watches = new OpenCount({ what: 'watches', overall: 5, perLine: 2 });
    watches.open(jane.name, jane);
    watches.open(jane.name, jane);
    expect(() => watches.open(jane.name, jane)).toThrow(
      'you have 2 watches open, and 2 is the limit for one user or workspace; close some of them',
    );
    for (let index = 0; index < 3; index++) watches.open(admin.name, admin);
    expect(() => watches.open(admin.name, admin)).toThrow('the server has 5 watches open, which is its limit; try again later');
    watches.close(jane.name);
    watches.open(joe.name, joe);
    expect(watches.total).toBe(5);
  });

  it('leave room for others when a few users hold many', () => {
    const watches = new OpenCount({ what: 'watches', overall: 1000, perLine: 400 });
    const open = (line: string): boolean => {
      try {
        watches.open(line, jane);
        return true;
      } catch {
        return false;
      }
    };
    for (let at = 0; at < 500; at++) for (const greedy of ['/a', '/b', '/c']) open(greedy);
    expect(watches.total).toBe(750);
    expect(Array.from({ length: 50 }, (_, at) => open(`/small-${at}`))).not.toContain(false);
    expect(open('/a')).toBe(false);
  });

  it('are counted correctly when a user closes one that was never opened', () => {
    const watches = new OpenCount({ what: 'watches', overall: 1, perLine: 1 });
    watches.close(jane.name);
    watches.open(jane.name, jane);
    expect(watches.total).toBe(1);
  });
});

describe('the flow of a request', () => {
  const objects = new MemoryObjects();
  for (const { resource, object } of repairs(bootstrapObjects(new Date(0)), objects, 'root')) {
    object.metadata.uid = `${object.kind === 'FlowSchema' ? 'schema' : 'level'}-${object.metadata.name}`;
    objects.put(resource, object);
  }
  const classify = flowClassifier(objects);
  const member = (name: string, ...groups: string[]): User => ({ name, groups: [...groups, 'system:authenticated'] });
  const manager = member('system:kube-controller-manager');
  const leases = { group: 'coordination.k8s.io', resource: 'leases', namespace: 'kube-system' };
  it.each<[string, string, Parameters<typeof asking>]>([
    ['exempt', 'exempt', [admin, 'delete', { resource: 'nodes' }]],
    ['probes', 'exempt', [member('jane'), 'get', { path: '/livez' }]],
    ['global-default', 'global-default', [member('jane'), 'get', { path: '/metrics' }]],
    ['system-leader-election', 'leader-election', [manager, 'update', leases]],
    ['kube-controller-manager', 'workload-high', [manager, 'delete', leases]],
    ['system-node-high', 'node-high', [member('n1', 'system:nodes'), 'patch', { resource: 'nodes', subresource: 'status' }]],
    ['system-nodes', 'system', [member('n1', 'system:nodes'), 'get', { resource: 'pods', namespace: 'shop' }]],
    [
      'kube-system-service-accounts',
      'workload-high',
      [member('system:serviceaccount:kube-system:x', 'system:serviceaccounts'), 'list', { resource: 'pods' }],
    ],
    ['service-accounts', 'workload-low', [member('system:serviceaccount:shop:x', 'system:serviceaccounts'), 'list', { resource: 'pods' }]],
    ['global-default', 'global-default', [member('jane'), 'list', { resource: 'pods' }]],
  ])('belongs to schema %s and level %s', (schema, level, request) => {
    expect(classify(asking(...request))).toEqual({ flowSchemaUid: `schema-${schema}`, priorityLevelUid: `level-${level}` });
  });

  it('follows changes, and is undefined when nothing matches', () => {
    const empty = new MemoryObjects();
    const own = flowClassifier(empty);
    expect(own(asking(jane, 'get', { resource: 'pods' }))).toBeUndefined();
    const spec = {
      priorityLevelConfiguration: { name: 'none' },
      rules: [
        {
          subjects: [{ kind: 'User', user: { name: '*' } }],
          resourceRules: [{ verbs: ['get'], apiGroups: [''], resources: ['pods'], clusterScope: true }],
        },
      ],
    };
    empty.put(
      { group: 'flowcontrol.apiserver.k8s.io', resource: 'flowschemas' },
      { apiVersion: 'flowcontrol.apiserver.k8s.io/v1', kind: 'FlowSchema', metadata: { name: 'mine', uid: 'm' }, spec },
    );
    expect(own(asking(jane, 'get', { resource: 'pods' }))).toEqual({ flowSchemaUid: 'm', priorityLevelUid: '' });
    expect(own(asking(jane, 'get', { resource: 'pods', namespace: 'shop' }))).toBeUndefined();
  });
});

describe('lines', () => {
  const robot = { name: 'system:serviceaccount:default:default', groups: [] };

  it('are per workspace, regardless of user names', () => {
    expect(lineOf('aaaa', robot)).toBe(lineOf('aaaa', jane));
    expect(lineOf('aaaa', robot)).not.toBe(lineOf('bbbb', robot));
  });

  it('are per user in the root workspace, even for a user named like a workspace', () => {
    expect(lineOf('root', jane)).not.toBe(lineOf('root', joe));
    expect(lineOf('root', { name: 'aaaa', groups: [] })).not.toBe(lineOf('aaaa', jane));
  });
});
