import { platformWorkspace, type UsageFact, type UsageReport } from '@capstan/api';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createWorkspace, type Reply, startTestServer, type TestServer } from '../testing/harness.ts';
import { parseUsageQuery, UsageSums } from '../usage/report.ts';

let server: TestServer;
/** The controllers that make root:platform do not run here. */
const platform = `/clusters/${platformWorkspace}`;
const page = '/capstan/usage';

const fact = (uid: string, more: Partial<UsageFact> = {}): UsageFact => ({
  cluster: 'tenant',
  uid,
  attempt: 'try',
  part: 0,
  workspace: 'root:tenant',
  namespace: 'default',
  name: uid,
  offering: 'large',
  model: 'H100',
  gpus: 2,
  cpu: 4_000,
  memory: 2 ** 30,
  node: 'n1',
  begin: '2026-03-01T00:00:00Z',
  ...more,
});
const append = (body: object): Promise<Reply> =>
  server.call(`${platform}${page}`, { method: 'POST', body: { facts: [], ends: [], clock: '2026-03-01T00:00:00Z', ...body } });
const report = async (path: string): Promise<UsageReport> => {
  const reply = await server.call(path);
  expect(reply.code, reply.text).toBe(200);
  return JSON.parse(reply.text) as UsageReport;
};
const march = 'from=2026-03-01&to=2026-04-01';

beforeAll(async () => {
  server = await startTestServer({ tokens: 'alice-token,alice,1' });
  const types = '/clusters/root/apis/tenancy.kcp.io/v1alpha1/workspaces';
  const made = await server.call(types, {
    method: 'POST',
    body: { apiVersion: 'tenancy.kcp.io/v1alpha1', kind: 'Workspace', metadata: { name: 'platform' }, spec: { cluster: 'platformid' } },
  });
  expect(made.code, made.text).toBe(201);
  await createWorkspace(server, 'platformid');
  await createWorkspace(server, 'tenant');
  await createWorkspace(server, 'other');
});
afterAll(() => server[Symbol.asyncDispose]());

describe('the ledger', () => {
  it('counts a fact once, however often it is reported, and ends it once', async () => {
    for (let times = 0; times < 3; times++) expect((await append({ facts: [fact('a')] })).code).toBe(200);
    await append({ facts: [fact('a', { begin: '2026-03-01T12:00:00Z' })] });
    for (const end of ['2026-03-02T00:00:00Z', '2026-03-05T00:00:00Z'])
      await Promise.all([
        append({ ends: [{ cluster: 'tenant', uid: 'a', end }] }),
        append({ ends: [{ cluster: 'tenant', uid: 'a', end }] }),
      ]);
    const { total } = await report(`/clusters/tenant${page}?${march}`);
    expect(total).toEqual({
      gpuSeconds: 2 * 86_400,
      coreSeconds: 4 * 86_400,
      memoryGibSeconds: 86_400,
      storageGibSeconds: 0,
      allocations: 1,
    });
  });

  it('counts the sizes that a volume has had, one after the other, and no allocation', async () => {
    const volume = { offering: '', model: '', gpus: 0, cpu: 0, memory: 0 };
    const size = (gibibytes: number, begin: string) =>
      fact('v', { ...volume, attempt: `size-${gibibytes}`, storage: gibibytes * 2 ** 30, begin });
    const [first, second] = [size(4, '2025-05-01T00:00:00Z'), size(8, '2025-05-02T00:00:00Z')];
    // Again and again, and in the wrong order after a restart.
    for (let round = 0; round < 2; round++) {
      await append({ facts: [first], ends: [{ cluster: 'tenant', uid: 'v', end: '2025-05-01T00:00:00Z', except: 'size-4' }] });
      await append({ facts: [second], ends: [{ cluster: 'tenant', uid: 'v', end: '2025-05-02T00:00:00Z', except: 'size-8' }] });
    }
    await append({ ends: [{ cluster: 'tenant', uid: 'v', end: '2025-05-03T00:00:00Z' }] });
    const { total } = await report(`/clusters/tenant${page}?from=2025-05-01&to=2025-06-01`);
    expect(total).toEqual({ gpuSeconds: 0, coreSeconds: 0, memoryGibSeconds: 0, storageGibSeconds: 12 * 86_400, allocations: 0 });
  });

  it('ends nothing that never began, and nothing before it began', async () => {
    await append({ ends: [{ cluster: 'tenant', uid: 'never', end: '2026-03-02T00:00:00Z' }] });
    await append({ facts: [fact('early')], ends: [{ cluster: 'tenant', uid: 'early', end: '2026-02-01T00:00:00Z' }] });
    expect((await report(`/clusters/tenant${page}?${march}`)).total.allocations).toBe(1);
  });

  it('survives a restart, and remembers the latest time', async () => {
    await append({ clock: '2026-05-01T00:00:00Z' });
    await server.restart();
    expect(JSON.parse((await append({ clock: '2026-04-01T00:00:00Z' })).text)).toEqual({ clock: '2026-05-01T00:00:00.000Z' });
    const state = await server.call(`${platform}${page}?allocation=tenant/a`);
    expect(JSON.parse(state.text)).toEqual({ clock: '2026-05-01T00:00:00.000Z', begun: true, open: false });
    for (const startedAt of [1_000, 2_000]) {
      const origin = { boot: 'b1', startedAt };
      for (let times = 0; times < 2; times++) await append({ origin });
      expect(JSON.parse((await server.call(`${platform}${page}?allocation=`)).text)).toMatchObject({ origin });
    }
  });

  it('shows each workspace its own, and the owner all', async () => {
    await append({
      facts: [fact('b', { cluster: 'other', workspace: 'root:other' })],
      ends: [{ cluster: 'other', uid: 'b', end: '2026-03-01T01:00:00Z' }],
    });
    expect((await report(`/clusters/other${page}?${march}&groupBy=workspace`)).items.map(({ key }) => key)).toEqual(['root:other']);
    expect((await report(`/clusters/other${page}?${march}&workspace=tenant`)).items.map(({ key }) => key)).toEqual(['root:other']);
    expect((await report(`${page}?${march}`)).items.map(({ key }) => key)).toEqual(['root:other', 'root:tenant']);
    expect((await report(`${page}?${march}&workspace=tenant`)).items.map(({ key }) => key)).toEqual(['root:tenant']);
  });

  it('is written in root:platform only, and read by those who may', async () => {
    expect((await server.call(`/clusters/tenant${page}`, { method: 'POST', body: {} })).code).toBe(405);
    expect((await server.call(page, { method: 'POST', body: {} })).code).toBe(405);
    const alice = { anonymous: true, headers: { authorization: 'Bearer alice-token' } };
    for (const path of ['', '/clusters/tenant', platform]) expect((await server.call(`${path}${page}`, alice)).code).toBe(403);
    expect((await server.call(`${platform}${page}`, { ...alice, method: 'POST', body: {} })).code).toBe(403);
  });

  it.each([
    [{ facts: [fact('a/../b')] }, 'facts[0].uid'],
    [{ facts: [fact('a', { cluster: '../x' })] }, 'facts[0].cluster'],
    [{ facts: [fact('a', { gpus: -1 })] }, 'facts[0].gpus'],
    [{ facts: [fact('a', { begin: 'now' })] }, 'facts[0].begin'],
    [{ facts: {} }, 'facts: expected a list'],
    [{ ends: [{}] }, 'ends[0].cluster'],
    [{ clock: '' }, 'clock'],
    [{ origin: { boot: '../x', startedAt: 1 } }, 'origin.boot'],
    [{ origin: { boot: 'b1' } }, 'origin.startedAt'],
  ])('refuses %j', async (body, message) => {
    const reply = await append(body);
    expect([reply.code, reply.text]).toEqual([400, expect.stringContaining(message)]);
  });
});

describe('a report', () => {
  it.each(['from=yesterday', 'to=2026-13-01', 'groupBy=user', 'from=2026-02-02&to=2026-02-01', 'from=1999-01-01'])(
    'refuses %s',
    async (query) => {
      expect((await server.call(`${page}?${query}`)).code).toBe(400);
    },
  );

  const time = fc.integer({ min: Date.UTC(2026, 0, 1), max: Date.UTC(2026, 0, 20) });
  const facts = fc.array(
    fc.record({
      begin: time,
      length: fc.integer({ min: 0, max: 5 * 86_400_000 }),
      gpus: fc.integer({ min: 0, max: 16 }),
      isOpen: fc.boolean(),
      model: fc.constantFrom('A', 'B'),
    }),
    { maxLength: 20 },
  );
  const sum = (given: readonly UsageFact[], from: number, to: number, groupBy: string): UsageReport => {
    const query = { from: new Date(from).toISOString(), to: new Date(to).toISOString(), groupBy } as Record<string, string>;
    const sums = new UsageSums(
      parseUsageQuery((name) => query[name], new Date(to)),
      new Date(Date.UTC(2026, 1, 1)),
    );
    for (const one of given) sums.add(one);
    return sums.report();
  };
  const seconds = ({ items }: UsageReport): number => items.reduce((all, { gpuSeconds }) => all + gpuSeconds, 0);

  it('has the same sum however it is grouped, and however time is cut', () => {
    fc.assert(
      fc.property(facts, time, time, time, (given, a, b, c) => {
        const [from, cut, to] = [a, b, c].sort((x, y) => x - y) as [number, number, number];
        const all = given.map(({ begin, length, isOpen, ...rest }, index) =>
          fact(`u${index}`, {
            ...rest,
            begin: new Date(begin).toISOString(),
            ...(!isOpen && { end: new Date(begin + length).toISOString() }),
          }),
        );
        const total = sum(all, from, to, 'model').total.gpuSeconds;
        for (const group of ['model', 'day', 'offering', 'workspace']) expect(seconds(sum(all, from, to, group))).toBeCloseTo(total, 3);
        expect(sum(all, from, cut, 'day').total.gpuSeconds + sum(all, cut, to, 'day').total.gpuSeconds).toBeCloseTo(total, 3);
      }),
    );
  });
});
