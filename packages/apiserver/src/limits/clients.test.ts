import { describe, expect, it } from 'vitest';
import { ByteBudget } from './byte-budget.ts';
import { Clients } from './clients.ts';
import { ProcessorTime } from './processor-time.ts';
import { WorkQueue } from './work-queue.ts';

/** Clients of a clock that the test moves, where a tenant has used some milliseconds of the current window. */
function stage(used: Readonly<Record<string, number>>, maxWaiting = 10) {
  let clock = 0;
  const ended: (() => void)[] = [];
  const time = new ProcessorTime({ now: () => clock, afterWork: (callback) => void ended.push(callback) });
  for (const [tenant, milliseconds] of Object.entries(used)) {
    time.begin(tenant);
    clock += milliseconds;
    for (const end of ended.splice(0)) end();
  }
  const work = new WorkQueue({ time, maxWaiting, maxWaitingPerTenant: maxWaiting });
  return { work, clients: new Clients({ time, work, unsent: new ByteBudget({ overall: 1, perTenant: 1 }) }) };
}

describe('a request that is not parsed yet', () => {
  it('waits if the last one on its connection was alike and of a busy tenant', async () => {
    const { clients, work } = stage({ '/busy': 4 });
    const turn = clients.startEarly({ owner: '/busy', isLikeLast: true });
    expect(work.waiting).toBe(1);
    await turn;
    expect(work.waiting).toBe(0);
  });

  it('begins at once on the connection of a tenant that has used little, and on a new connection', () => {
    const { clients } = stage({ '/busy': 4, '/calm': 0.5 });
    expect(clients.startEarly({ owner: '/calm', isLikeLast: true })).toBeUndefined();
    expect(clients.startEarly({ owner: '', isLikeLast: false })).toBeUndefined();
  });

  it('does not wait for the tenant of another request on the same connection, such as that of a proxy', () => {
    const { clients } = stage({ '/busy': 4 });
    expect(clients.startEarly({ owner: '/busy', isLikeLast: false })).toBeUndefined();
  });

  it('is left to the limits on requests if too many wait', () => {
    const { clients } = stage({ '/busy': 4 }, 1);
    void clients.startEarly({ owner: '/busy', isLikeLast: true });
    expect(clients.startEarly({ owner: '/busy', isLikeLast: true })).toBeUndefined();
  });
});
