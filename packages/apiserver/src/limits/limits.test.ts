import { rootCluster, type User } from '@capstan/api';
import type { StatusError } from '@capstan/machinery';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { asking, MemoryObjects } from '../authz/testing.ts';
import { bootstrapObjects } from '../bootstrap/objects.ts';
import { repairs } from '../bootstrap/reconcile.ts';
import { flowClassifier } from './classifier.ts';
import { InFlight } from './in-flight.ts';
import { type Line, lineOf } from './line.ts';
import { OpenCount } from './open-count.ts';

const jane: User = { name: 'jane', groups: [] };
const joe: User = { name: 'joe', groups: [] };
const admin: User = { name: 'admin', groups: ['system:masters'] };

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A line of a user in the root workspace, or of a whole organization if the name begins with a slash. */
const line = (tenant: string, user = tenant): Line => ({ level: 'people', tenant, workspace: tenant, user });

const settled = async (): Promise<void> => void (await vi.advanceTimersByTimeAsync(0));

describe('requests in flight', () => {
  it('start at once while there is room, separately for each class', () => {
    const limits = new InFlight({ readonly: 2, mutating: 1 });
    expect([
      limits.enter(line(jane.name), jane, 'readonly'),
      limits.enter(line(jane.name), jane, 'readonly'),
      limits.enter(line(jane.name), jane, 'mutating'),
    ]).toEqual([undefined, undefined, undefined]);
    expect(limits.enter(line(jane.name), jane, 'readonly')).toBeInstanceOf(Promise);
    expect(limits.state).toMatchObject({ running: { readonly: 2, mutating: 1 }, waiting: 1 });
  });

  it('wait in line, and users take turns', async () => {
    const limits = new InFlight({ mutating: 1 });
    const order: string[] = [];
    void limits.enter(line(jane.name), jane, 'mutating');
    for (let index = 0; index < 3; index++) void limits.enter(line(jane.name), jane, 'mutating')!.then(() => order.push(`jane ${index}`));
    void limits.enter(line(joe.name), joe, 'mutating')!.then(() => order.push('joe'));
    for (const { name } of [jane, jane, joe, jane]) {
      limits.leave(line(name), 'mutating');
      await settled();
    }
    expect(order).toEqual(['jane 0', 'joe', 'jane 1', 'jane 2']);
    limits.leave(line(jane.name), 'mutating');
    expect(limits.state).toMatchObject({ running: { mutating: 0 }, waiting: 0 });
  });

  it('do not overtake waiting requests', async () => {
    const limits = new InFlight({ mutating: 1 });
    void limits.enter(line(jane.name), jane, 'mutating');
    const waiting = limits.enter(line(joe.name), joe, 'mutating');
    limits.leave(line(jane.name), 'mutating');
    expect(limits.enter(line(jane.name), jane, 'mutating')).toBeInstanceOf(Promise);
    await expect(waiting).resolves.toBeUndefined();
  });

  it('all succeed when a thousand clients of one user connect at once', async () => {
    const limits = new InFlight();
    let done = 0;
    const request = async (): Promise<void> => {
      await limits.enter(line(jane.name), jane, 'mutating');
      await Promise.resolve();
      limits.leave(line(jane.name), 'mutating');
      done++;
    };
    await Promise.all(Array.from({ length: 1000 }, request));
    expect([done, limits.state]).toEqual([1000, { running: { readonly: 0, mutating: 0 }, waiting: 0, rejected: 0 }]);
  });

  it('are rejected when too many wait, for one user or in total', () => {
    const limits = new InFlight({ mutating: 1, maxWaitingPerLine: 2, maxWaiting: 3 });
    for (let index = 0; index < 3; index++) void limits.enter(line(jane.name), jane, 'mutating');
    expect(() => limits.enter(line(jane.name), jane, 'mutating')).toThrow(/too many requests/);
    void limits.enter(line(joe.name), joe, 'mutating');
    const third: User = { name: 'max', groups: [] };
    expect(() => limits.enter(line(third.name), third, 'mutating')).toThrow(/too many requests/);
    expect(limits.state.rejected).toBe(2);
  });

  it('of a few tenants leave room in the queue for all others', async () => {
    const limits = new InFlight({ mutating: 1, maxWaiting: 1000, maxWaitingPerLine: 500 });
    const refused = new Map<string, number>();
    const enter = (name: string): void => {
      try {
        void limits.enter(line(name), jane, 'mutating');
      } catch {
        refused.set(name, (refused.get(name) ?? 0) + 1);
      }
    };
    for (let at = 0; at < 1000; at++) for (const greedy of ['/a', '/b', '/c']) enter(greedy);
    for (let at = 0; at < 100; at++) enter(`/small-${at}`);
    expect([...refused.keys()].sort()).toEqual(['/a', '/b', '/c']);
  });

  it('of one tenant that never end leave places for all others', async () => {
    const limits = new InFlight({ mutating: 200 });
    const greedy = Array.from({ length: 1000 }, () => limits.enter(line('/greedy'), jane, 'mutating'));
    expect(greedy.filter((wait) => wait === undefined).length).toBe(150);
    for (let at = 0; at < 1000; at++) {
      expect(limits.enter(line(`/small-${at % 60}`), joe, 'mutating')).toBeUndefined();
      limits.leave(line(`/small-${at % 60}`), 'mutating');
    }
    limits.leave(line('/greedy'), 'mutating');
    await expect(greedy[150]).resolves.toBeUndefined();
    expect(limits.state).toMatchObject({ running: { mutating: 150 }, waiting: 849 });
  });

  it('are rejected with a retry time when they have waited too long', async () => {
    const limits = new InFlight({ mutating: 1, maxWaitMilliseconds: 1000 });
    void limits.enter(line(jane.name), jane, 'mutating');
    const error = limits.enter(line(jane.name), jane, 'mutating')!.catch((reason: StatusError) => reason.status);
    await vi.advanceTimersByTimeAsync(500);
    const later = limits.enter(line(joe.name), joe, 'mutating')!;
    await vi.advanceTimersByTimeAsync(750);
    expect(await error).toMatchObject({ code: 429, reason: 'TooManyRequests', details: { retryAfterSeconds: 1 } });
    limits.leave(line(jane.name), 'mutating');
    await expect(later).resolves.toBeUndefined();
    expect(limits.state).toEqual({ running: { readonly: 0, mutating: 1 }, waiting: 0, rejected: 1 });
  });

  it('leave no timer running when none is waiting', async () => {
    const limits = new InFlight({ mutating: 1, maxWaitMilliseconds: 1000 });
    void limits.enter(line(jane.name), jane, 'mutating');
    void limits.enter(line(jane.name), jane, 'mutating');
    limits.leave(line(jane.name), 'mutating');
    await vi.advanceTimersByTimeAsync(300);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('of system:masters skip the queue, up to the absolute limit', () => {
    const limits = new InFlight({ mutating: 1, readonly: 1, absolute: 4 });
    void limits.enter(line(jane.name), jane, 'mutating');
    void limits.enter(line(jane.name), jane, 'mutating');
    void limits.enter(line(jane.name), jane, 'readonly');
    expect([limits.enter(line(admin.name), admin, 'mutating'), limits.enter(line(admin.name), admin, 'mutating')]).toEqual([
      undefined,
      undefined,
    ]);
    expect(limits.enter(line(admin.name), admin, 'mutating')).toBeInstanceOf(Promise);
  });

  it('of system:masters start in an idle class, however busy the other one is', () => {
    const limits = new InFlight({ mutating: 1, readonly: 1, absolute: 2 });
    for (let index = 0; index < 2; index++) void limits.enter(line(admin.name), admin, 'readonly');
    expect(limits.enter(line(admin.name), admin, 'mutating')).toBeUndefined();
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
          limits.leave(line(running.shift()!), 'readonly');
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
            const wait = limits.enter(line(one.user), { name: one.user, groups: [] }, 'readonly');
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
    watches.open(line(jane.name), jane);
    watches.open(line(jane.name), jane);
    expect(() => watches.open(line(jane.name), jane)).toThrow(
      'you have 2 watches open, and 2 is the limit for one user or workspace; close some of them',
    );
    for (let index = 0; index < 3; index++) watches.open(line(admin.name), admin);
    expect(() => watches.open(line(admin.name), admin)).toThrow('the server has 5 watches open, which is its limit; try again later');
    watches.close(line(jane.name));
    watches.open(line(joe.name), joe);
    expect(watches.total).toBe(5);
  });

  it('leave room for others when a few users hold many', () => {
    const watches = new OpenCount({ what: 'watches', overall: 1000, perLine: 400 });
    const open = (name: string): boolean => {
      try {
        watches.open(line(name), jane);
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
    watches.close(line(jane.name));
    watches.open(line(jane.name), jane);
    expect(watches.total).toBe(1);
  });
});

describe('the flow of a request', () => {
  const objects = new MemoryObjects();
  for (const { resource, object } of repairs(bootstrapObjects(new Date(0)), objects, rootCluster)) {
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
    [
      'capstan-node-agents',
      'capstan-node-agents',
      [member('a', 'system:capstan-node-agents'), 'get', { resource: 'leases', namespace: 'x' }],
    ],
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
  const agent = { name: 'system:capstan-node-agent:a', groups: ['system:capstan-node-agents', 'system:authenticated'] };

  it('are per workspace and, within it, per user', () => {
    expect(lineOf('aaaa', robot).tenant).toBe(lineOf('aaaa', jane).tenant);
    expect(lineOf('aaaa', robot).user).not.toBe(lineOf('aaaa', jane).user);
    expect(lineOf('aaaa', robot).tenant).not.toBe(lineOf('bbbb', robot).tenant);
  });

  it('tell service accounts of different workspaces apart', () => {
    const foreign = { ...robot, extra: { 'authentication.kcp.io/cluster-name': ['bbbb'] } };
    expect(lineOf('aaaa', robot).user).not.toBe(lineOf('aaaa', foreign).user);
  });

  it('are per user in the root workspace, even for a user named like a workspace', () => {
    expect(lineOf('root', jane).tenant).not.toBe(lineOf('root', joe).tenant);
    for (const name of ['aaaa', '/aaaa']) expect(lineOf('root', { name, groups: [] }).tenant).not.toBe(lineOf('aaaa', jane).tenant);
  });

  it('are per agent, in every workspace, on a level of their own', () => {
    const kubelet = { name: 'system:node:a', groups: ['system:nodes'] };
    for (const user of [agent, kubelet]) {
      const own = { level: 'agents', group: '@', tenant: `@${user.name}`, workspace: `@${user.name}`, user: `@${user.name}` };
      expect([lineOf('root', user), lineOf('aaaa', user)]).toEqual([own, own]);
    }
    expect(lineOf('aaaa', jane).level).toBe('people');
  });

  it('are per organization, however many workspaces it has', () => {
    const organizationOf = (cluster: string): string => cluster.slice(0, 1);
    const [one, other] = [lineOf('a1', { ...jane }, organizationOf), lineOf('a2', { ...jane }, organizationOf)];
    expect(one).toMatchObject({ tenant: other.tenant, user: other.user });
    expect(one.workspace).not.toBe(other.workspace);
    expect(lineOf('b1', { ...jane }, organizationOf).tenant).not.toBe(one.tenant);
  });

  it('of service accounts in the root workspace are those of their organization', () => {
    const organizationOf = (): string => 'a';
    const account = (name: string): User => ({ name, groups: [], extra: { 'authentication.kcp.io/cluster-name': ['a1'] } });
    const [one, other] = [1, 2].map((number) => lineOf('root', account(`system:serviceaccount:default:${number}`), organizationOf));
    expect(one!.tenant).toBe(other!.tenant);
    expect(one!.user).not.toBe(other!.user);
  });

  it('of administrators are their own, in every workspace', () => {
    expect(lineOf('aaaa', { ...admin })).toEqual(lineOf('root', { ...admin }));
  });

  it('are the same object while a user stays in a workspace', () => {
    expect(lineOf('aaaa', jane)).toBe(lineOf('aaaa', jane));
  });
});

describe('a thousand agents', () => {
  const agents = Array.from(
    { length: 1000 },
    (_, index): User => ({ name: `system:capstan-node-agent:${index}`, groups: ['system:capstan-node-agents'] }),
  );
  const enter = (limits: InFlight, user: User): undefined | Promise<void> => limits.enter(lineOf('platform', user), user, 'mutating');

  it('whose requests never end leave all places to people', () => {
    const limits = new InFlight();
    for (const agent of agents) for (let index = 0; index < 9; index++) void enter(limits, agent);
    for (let index = 0; index < 100; index++) expect(enter(limits, jane)).toBeUndefined();
  });

  it('find their places although a person has taken all of theirs', () => {
    const limits = new InFlight();
    for (let index = 0; index < 2_000; index++) void enter(limits, jane);
    const started = agents.filter((agent) => enter(limits, agent) === undefined);
    expect(started.length).toBe(100);
  });

  it('are rejected before people are, and people before agents', () => {
    const limits = new InFlight({ mutating: 1, maxWaiting: 1000, maxWaitingPerLine: 100 });
    const waits = (user: User): boolean => {
      try {
        void enter(limits, user);
        return true;
      } catch {
        return false;
      }
    };
    for (const agent of agents) for (let index = 0; index < 2; index++) waits(agent);
    expect(waits(agents[0]!)).toBe(false);
    expect([waits(jane), waits(joe)]).toEqual([true, true]);
  });

  it('take turns with each other', async () => {
    const limits = new InFlight({ agents: { mutating: 1 } });
    const order: string[] = [];
    const [first, second] = agents as [User, User];
    void enter(limits, first);
    for (const user of [first, first, second]) void enter(limits, user)!.then(() => order.push(user.name.slice(-1)));
    for (const user of [first, first, second]) {
      limits.leave(lineOf('platform', user), 'mutating');
      await settled();
    }
    expect(order).toEqual(['0', '1', '0']);
  });

  it('open watches that count apart from those of people', () => {
    const watches = new OpenCount({ what: 'watches', overall: 2000, perLine: 200, agents: { overall: 10_000, perLine: 20 } });
    for (const agent of agents) for (let index = 0; index < 5; index++) watches.open(lineOf('platform', agent), agent);
    for (let index = 0; index < 100; index++) watches.open(lineOf('platform', jane), jane);
    expect(watches.total).toBe(5100);
    for (let index = 0; index < 100; index++) watches.close(lineOf('platform', jane));
    const [one] = agents as [User];
    for (let index = 5; index < 20; index++) watches.open(lineOf('platform', one), one);
    expect(() => watches.open(lineOf('platform', one), one)).toThrow('you have 20 watches open');
    expect(watches.total).toBe(5015);
  });
});

describe('a user of a workspace', () => {
  it('cannot hold all places of it', () => {
    const limits = new InFlight({ mutating: 200, perUser: { mutating: 50 } });
    const enter = (user: User): boolean => limits.enter(lineOf('shop', user), user, 'mutating') === undefined;
    expect(Array.from({ length: 200 }, () => enter(jane)).filter(Boolean).length).toBe(50);
    expect(Array.from({ length: 50 }, () => enter(joe)).filter(Boolean).length).toBe(50);
  });

  it('takes turns with the others of it, however many requests of one wait', async () => {
    const limits = new InFlight({ mutating: 2, perUser: { mutating: 2 } });
    const order: string[] = [];
    const [own, other] = [lineOf('shop', jane), lineOf('shop', joe)];
    for (let index = 0; index < 2; index++) void limits.enter(own, jane, 'mutating');
    for (let index = 0; index < 3; index++) void limits.enter(own, jane, 'mutating')!.then(() => order.push('jane'));
    void limits.enter(other, joe, 'mutating')!.then(() => order.push('joe'));
    for (const left of [own, own, own]) {
      limits.leave(left, 'mutating');
      await settled();
    }
    expect(order).toEqual(['jane', 'joe', 'jane']);
  });

  it('cannot have all the waiting requests of it', () => {
    const limits = new InFlight({ mutating: 1, maxWaiting: 100, maxWaitingPerLine: 20 });
    const wait = (user: User): void => void limits.enter(lineOf('shop', user), user, 'mutating');
    for (let index = 0; index < 11; index++) wait(jane);
    expect(() => wait(jane)).toThrow(/too many requests/);
    for (let index = 0; index < 10; index++) wait(joe);
    expect(() => wait({ name: 'max', groups: [] })).toThrow(/too many requests/);
  });

  it('cannot open more watches than its organization may, however many workspaces it makes', () => {
    const watches = new OpenCount({ what: 'watches', overall: 1000, perTenant: 100, perLine: 20 });
    const open = (cluster: string): void =>
      watches.open(
        lineOf(cluster, { ...jane }, () => 'org'),
        jane,
      );
    for (let index = 0; index < 100; index++) open(`child-${Math.floor(index / 10)}`);
    expect(() => open('another')).toThrow('you have 100 watches open, and 100 is the limit for one organization; close some of them');
    watches.close(lineOf('child-0', { ...jane }, () => 'org'));
    open('another');
    expect(watches.total).toBe(100);
  });

  it('cannot open all watches of it', () => {
    const watches = new OpenCount({ what: 'watches', overall: 100, perLine: 20, perUser: 8 });
    const open = (user: User): void => watches.open(lineOf('shop', user), user);
    for (let index = 0; index < 8; index++) open(jane);
    expect(() => open(jane)).toThrow('you have 8 watches open, and 8 is the limit for one user of a workspace; close some of them');
    for (let index = 0; index < 8; index++) open(joe);
    watches.close(lineOf('shop', jane));
    open(jane);
    expect(watches.total).toBe(16);
  });
});
