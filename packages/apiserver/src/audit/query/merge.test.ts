import { generateKeyPairSync } from 'node:crypto';
import { appendFileSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { cursorKey } from './cursor.ts';
import { parseQuery } from './filter.ts';
import { AuditLogReader } from './log-reader.ts';
import { AuditQueries, type OtherLogs } from './query.ts';
import { PositionGone } from './scan.ts';

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'audit-merge-'));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

interface List {
  readonly metadata: { readonly continue?: string };
  readonly missingServers?: readonly string[];
  readonly items: readonly { readonly auditID: string }[];
}

const line = (second: number, id: string, workspace = 'w'): string =>
  `${JSON.stringify({
    kind: 'Event',
    auditID: id,
    verb: 'create',
    stageTimestamp: new Date(Date.UTC(2026, 0, 1) + second * 1000).toISOString(),
    annotations: { 'tenancy.kcp.io/workspace': workspace },
  })}\n`;

/** A server for each log; the first is asked. The others are away if `away` says so. */
const serversOf = (logs: readonly string[], options?: { budget?: number; away?: Set<string> }): AuditQueries =>
  allServersOf(logs, options)[0]!;

function allServersOf(logs: readonly string[], { budget = 1 << 20, away = new Set<string>() } = {}): AuditQueries[] {
  const readers = logs.map((text, index) => {
    const file = join(directory, `${index}-${Math.random()}.log`);
    writeFileSync(file, text);
    return { file, reader: new AuditLogReader({ file, budget, concurrent: 100 }) };
  });
  const names = readers.map((_, index) => `s${index}`);
  const page: OtherLogs['page'] = async (server, request) => {
    if (away.has(server)) throw new Error('no answer');
    // As in a relay: the page travels as JSON.
    const found = await readers[Number(server.slice(1))]!.reader.page(JSON.parse(JSON.stringify(request)) as typeof request);
    return JSON.parse(JSON.stringify(found)) as typeof found;
  };
  const key = cursorKey(generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey);
  return names.map((name, index) => {
    const others = { names: () => names.filter((other) => other !== name), page };
    return new AuditQueries({ file: readers[index]!.file, budget, concurrent: 100, name, key, others });
  });
}

async function ask(queries: AuditQueries, parameters: Record<string, string> = {}, workspace?: string): Promise<List> {
  const query = parseQuery((name) => parameters[name], { workspace, isTenant: workspace !== undefined });
  return JSON.parse(await queries.answer(query)) as List;
}

const ids = ({ items }: List): string[] => items.map(({ auditID }) => auditID);

/** All pages, and how many there were. */
async function all(queries: AuditQueries, parameters: Record<string, string>, workspace?: string): Promise<string[]> {
  const found: string[] = [];
  let token: string | undefined;
  for (let page = 0; page < 2_000; page++) {
    const list = await ask(queries, { ...parameters, ...(token !== undefined && { continue: token }) }, workspace);
    found.push(...ids(list));
    token = list.metadata.continue;
    if (token === undefined) return found;
  }
  throw new Error('the pages do not end');
}

describe('a query of several servers', () => {
  it('has every event once, newest first, however it is cut into pages and reads', async () => {
    const seconds = fc.array(fc.tuple(fc.integer({ min: 0, max: 50 }), fc.boolean()), { maxLength: 12 });
    const cases = fc.tuple(
      fc.array(seconds, { minLength: 1, maxLength: 3 }),
      fc.integer({ min: 1, max: 4 }),
      fc.integer({ min: 1, max: 600 }),
    );
    await fc.assert(
      fc.asyncProperty(cases, async ([given, limit, budget]) => {
        const events = given.map((log, server) =>
          [...log].sort(([a], [b]) => a - b).map(([second, isMine], index) => ({ second, id: `${server}-${index}`, isMine })),
        );
        const texts = events.map((log) => log.map(({ second, id, isMine }) => line(second, id, isMine ? 'w' : 'other')).join(''));
        const found = await all(serversOf(texts, { budget }), { limit: String(limit) }, 'w');
        const mine = events.flat().filter(({ isMine }) => isMine);
        expect([...found].sort()).toEqual(mine.map(({ id }) => id).sort());
        const times = found.map((id) => mine.find((event) => event.id === id)!.second);
        expect(times).toEqual([...times].sort((a, b) => b - a));
      }),
      { numRuns: 60 },
    );
  });

  it('goes on at any server of the installation, also after it was started anew', async () => {
    const logs = [line(1, 'a') + line(4, 'd'), line(2, 'b') + line(5, 'e'), line(3, 'c')];
    const servers = allServersOf(logs);
    const first = await ask(servers[0]!, { limit: '1' });
    const second = await ask(servers[1]!, { limit: '2', continue: first.metadata.continue! });
    const third = await ask(servers[2]!, { limit: '5', continue: second.metadata.continue! });
    expect([first, second, third].map(ids)).toEqual([['e'], ['d', 'c'], ['b', 'a']]);
    const stranger = allServersOf(logs)[0]!;
    await expect(ask(stranger, { continue: first.metadata.continue! })).rejects.toMatchObject({ status: { code: 410 } });
  });

  it('cannot go on at a server that is alone and had another name', async () => {
    const file = join(directory, 'renamed.log');
    writeFileSync(file, line(1, 'a') + line(2, 'b'));
    const key = Buffer.alloc(32, 1);
    const token = (await ask(new AuditQueries({ file, name: 'old', key }), { limit: '1' })).metadata.continue!;
    expect(ids(await ask(new AuditQueries({ file, name: 'old', key }), { continue: token }))).toEqual(['a']);
    const renamed = ask(new AuditQueries({ file, name: 'new', key }), { continue: token });
    await expect(renamed).rejects.toMatchObject({ status: { code: 410 } });
  });

  it('shows nothing twice, and nothing new, if servers write between two pages', async () => {
    const queries = serversOf([line(9, 'a'), line(1, 'b') + line(2, 'c')]);
    const first = await ask(queries, { limit: '1' });
    expect(ids(first)).toEqual(['a']);
    for (const name of readdirSync(directory)) appendFileSync(join(directory, name), line(20, 'new'));
    const later: string[] = [];
    for (let page = first; page.metadata.continue !== undefined; ) {
      page = await ask(queries, { limit: '1', continue: page.metadata.continue });
      later.push(...ids(page));
    }
    expect(later).toEqual(['c', 'b']);
  });

  it('names the servers that did not answer, on every page, and does not ask them later', async () => {
    const away = new Set(['s1']);
    const queries = serversOf([line(1, 'a') + line(2, 'b'), line(3, 'gone'), line(4, 'c')], { away });
    const first = await ask(queries, { limit: '2' });
    expect([ids(first), first.missingServers]).toEqual([['c', 'b'], ['s1']]);
    away.clear();
    const second = await ask(queries, { limit: '2', continue: first.metadata.continue! });
    expect([ids(second), second.missingServers, second.metadata.continue]).toEqual([['a'], ['s1'], undefined]);
    const again = await ask(queries);
    expect([ids(again), again.missingServers]).toEqual([['c', 'gone', 'b', 'a'], undefined]);
  });

  it('does not tell tenants the names of servers', async () => {
    const list = await ask(serversOf([line(1, 'a'), line(2, 'b')], { away: new Set(['s1']) }), {}, 'w');
    expect([ids(list), list.missingServers]).toEqual([['a'], ['a server of the platform']]);
  });

  it('has to start again when the log of another server was rotated away', async () => {
    const others: OtherLogs = { names: () => ['s1'], page: () => Promise.reject(new PositionGone()) };
    const file = join(directory, 'own.log');
    writeFileSync(file, line(1, 'a'));
    await expect(ask(new AuditQueries({ file, others }))).rejects.toMatchObject({ status: { code: 410 } });
  });
});
