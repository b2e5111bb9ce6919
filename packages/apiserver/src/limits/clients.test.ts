import { setImmediate } from 'node:timers/promises';
import { nodeAgentGroup } from '@capstan/api';
import { describe, expect, it } from 'vitest';
import { ByteBudget } from './byte-budget.ts';
import { Clients } from './clients.ts';
import { type Line, lineOf } from './line.ts';
import { ProcessorTime } from './processor-time.ts';
import { WorkQueue } from './work-queue.ts';

const lineFor = (tenant: string): Line => ({ level: 'people', tenant, workspace: tenant, user: tenant });

/** Clients of a clock that the test moves, where tenants have used some milliseconds of the current window, in one or more rounds. */
function stage(
  used: Readonly<Record<string, number>>,
  {
    maxWaiting = 10,
    group,
    rounds = 1,
  }: { readonly maxWaiting?: number; readonly group?: string | undefined; readonly rounds?: number } = {},
) {
  let clock = 0;
  const ended: (() => void)[] = [];
  const time = new ProcessorTime({ now: () => clock, afterWork: (callback) => void ended.push(callback) });
  for (let round = 0; round < rounds; round++)
    for (const [tenant, milliseconds] of Object.entries(used)) {
      time.begin({ tenant, user: tenant, ...(group !== undefined && { group }) });
      clock += milliseconds / rounds;
      for (const end of ended.splice(0)) end();
    }
  const work = new WorkQueue({ time, maxWaiting, maxWaitingPerTenant: maxWaiting });
  return { work, clients: new Clients({ time, work, unsent: new ByteBudget({ overall: 1, perTenant: 1 }) }) };
}

describe('a request that is not parsed yet', () => {
  it('waits if the last one on its connection was alike and of a busy tenant', async () => {
    const { clients, work } = stage({ '/busy': 4 });
    const turn = clients.startEarly({ owner: '/busy', lastUser: '/busy', isLikeLast: true });
    expect(work.waiting).toBe(1);
    await turn;
    expect(work.waiting).toBe(0);
  });

  it('begins at once on the connection of a tenant that has used little, and on a new connection', () => {
    const { clients } = stage({ '/busy': 4, '/calm': 0.5 });
    expect(clients.startEarly({ owner: '/calm', lastUser: '/calm', isLikeLast: true })).toBeUndefined();
    expect(clients.startEarly({ owner: '', lastUser: '', isLikeLast: false })).toBeUndefined();
  });

  it('does not wait for the tenant of another request on the same connection, such as that of a proxy', () => {
    const { clients } = stage({ '/busy': 4 });
    expect(clients.startEarly({ owner: '/busy', lastUser: '/busy', isLikeLast: false })).toBeUndefined();
  });

  it('is left to the limits on requests if too many wait', () => {
    const { clients } = stage({ '/busy': 4 }, { maxWaiting: 1 });
    void clients.startEarly({ owner: '/busy', lastUser: '/busy', isLikeLast: true });
    expect(clients.startEarly({ owner: '/busy', lastUser: '/busy', isLikeLast: true })).toBeUndefined();
  });
});

describe('a tenant that has used its share', () => {
  const [busy, calm] = [lineFor('/busy'), lineFor('/calm')];
  /** Two tenants take turns, and one of them uses more. */
  const shared = { '/busy': 2, '/calm': 0.01 };
  /** Counts what happens to a connection. */
  function connection() {
    const seen: string[] = [];
    return { seen, hold: () => seen.push('held') > 0, release: () => void seen.push('released') };
  }

  it('is read again when it is its turn, while others share the event loop', async () => {
    const { clients, work } = stage(shared, { rounds: 5 });
    const [own, other] = [connection(), connection()];
    clients.of(busy).beforeReading(own);
    clients.of(calm).beforeReading(other);
    expect([own.seen, other.seen, work.unread]).toEqual([['held'], [], 1]);
    await setImmediate();
    expect(own.seen).toEqual(['held', 'released']);
  });

  it('goes on after a commit when it is its turn, and others at once', async () => {
    const { clients, work } = stage(shared, { rounds: 5 });
    const turn = clients.of(busy).goOn();
    expect([work.waiting, clients.of(calm).goOn()]).toEqual([1, undefined]);
    await turn;
    expect(work.waiting).toBe(0);
  });

  it('neither waits nor is held while nobody else is there', () => {
    const { clients } = stage({ '/busy': 4 });
    const own = connection();
    clients.of(busy).beforeReading(own);
    expect([own.seen, clients.of(busy).goOn()]).toEqual([[], undefined]);
  });
});

describe('a tenant that rests after long pieces', () => {
  it('waits with new requests too, although it has used nothing in the last ten milliseconds', async () => {
    const { clients, work } = stage({ '/calm': 1, '/busy': 120 }, { rounds: 3 });
    const [busy, calm] = [lineFor('/busy'), lineFor('/calm')].map((line) => clients.of(line));
    expect([calm!.start(), work.waiting]).toEqual([undefined, 0]);
    const turn = busy!.start();
    expect([turn, work.waiting]).toEqual([expect.any(Promise), 1]);
    await setImmediate();
    expect(work.waiting).toBe(1);
  });
});

describe('agents that act at the same time', () => {
  const agent = (name: string): Line => lineOf('root', { name, groups: [nodeAgentGroup] });

  it('wait for each other, and nobody for them', async () => {
    const many = Object.fromEntries(Array.from({ length: 8 }, (_, index) => [agent(`agent-${index}`).tenant, 0.5]));
    const { clients, work } = stage(many, { group: agent('agent-0').group });
    const turn = clients.start(clients.of(agent('agent-8')));
    expect(work.waiting).toBe(1);
    expect(clients.start(clients.of(lineOf('root', { name: 'somebody', groups: [] })))).toBeUndefined();
    await turn;
  });

  it('begin at once while all of them have used little', () => {
    const { clients } = stage({ [agent('agent-0').tenant]: 0.5 }, { group: agent('agent-0').group });
    expect(clients.start(clients.of(agent('agent-1')))).toBeUndefined();
  });
});
