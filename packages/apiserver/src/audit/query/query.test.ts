import { mkdtempSync, renameSync, rmSync, unlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parseQuery } from './filter.ts';
import { AuditQueries } from './query.ts';
import { type LogPosition, scanBackwards } from './scan.ts';

let directory: string;
let file: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'audit-query-'));
  file = join(directory, 'audit.log');
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

describe('a scan', () => {
  async function pages(budget: number, chunkSize: number): Promise<string[]> {
    const lines: string[] = [];
    let from: LogPosition | undefined;
    for (let page = 0; page < 10_000; page++) {
      const visit = (line: Buffer): boolean => lines.push(line.toString()) % 3 !== 0;
      from = await scanBackwards({ file, from, budget, visit, chunkSize });
      if (from === undefined) return lines;
    }
    throw new Error('a scan does not end');
  }

  it('gives every line once, newest first, however it is cut into pages and chunks', async () => {
    const line = fc.stringMatching(/^[a-zäöü"{}]{1,40}$/);
    const parts = fc.array(fc.array(line, { maxLength: 12 }), { minLength: 1, maxLength: 3 });
    await fc.assert(
      fc.asyncProperty(parts, fc.integer({ min: 1, max: 200 }), fc.integer({ min: 1, max: 64 }), async (given, budget, chunkSize) => {
        rmSync(directory, { recursive: true });
        directory = mkdtempSync(join(tmpdir(), 'audit-query-'));
        file = join(directory, 'audit.log');
        for (const [index, lines] of given.entries()) {
          const text = lines.map((one) => `${one}\n`).join('');
          writeFileSync(index === given.length - 1 ? file : join(directory, `audit-2026-01-01T00-00-0${index}.000.log`), text);
        }
        expect(await pages(budget, chunkSize)).toEqual(given.flat().reverse());
      }),
      { numRuns: 60 },
    );
  });

  it('goes on in a file that was rotated in the meantime', async () => {
    writeFileSync(file, 'a\nb\nc\n');
    const seen: string[] = [];
    const visit = (line: Buffer): boolean => seen.push(line.toString()) < 1;
    const from = await scanBackwards({ file, from: undefined, budget: 1000, visit });
    renameSync(file, join(directory, 'audit-2026-01-01T00-00-00.000.log'));
    writeFileSync(file, 'd\n');
    await scanBackwards({ file, from, budget: 1000, visit: (line) => seen.push(line.toString()) > 0 });
    expect(seen).toEqual(['c', 'b', 'a']);
  });
});

const event = (index: number, workspace: string, more: object = {}): string =>
  `${JSON.stringify({
    kind: 'Event',
    auditID: `${workspace}-${index}`,
    verb: 'create',
    user: { username: 'jane', groups: ['devs'], extra: { secret: ['x'] } },
    sourceIPs: ['10.0.0.1'],
    objectRef: { resource: 'pods', namespace: 'shop', name: 'web' },
    responseStatus: { code: 201 },
    ...more,
    stageTimestamp: new Date(Date.UTC(2026, 0, 1, 0, 0, index)).toISOString(),
    annotations: { 'tenancy.kcp.io/workspace': workspace },
  })}\n`;

interface List {
  readonly kind: string;
  readonly metadata: { readonly continue?: string };
  readonly items: { readonly auditID: string; readonly sourceIPs?: string[]; readonly user: object }[];
}

async function ask(queries: AuditQueries, parameters: Record<string, string>, workspace?: string): Promise<List> {
  const query = parseQuery((name) => parameters[name], { workspace, isTenant: workspace !== undefined });
  return JSON.parse(await queries.answer(query)) as List;
}

const ids = ({ items }: List): string[] => items.map(({ auditID }) => auditID);

describe('a query', () => {
  it('pages through the newest events first', async () => {
    writeFileSync(file, Array.from({ length: 5 }, (_, index) => event(index, 'root')).join(''));
    const queries = new AuditQueries({ file });
    const first = await ask(queries, { limit: '2' });
    expect([first.kind, ids(first)]).toEqual(['EventList', ['root-4', 'root-3']]);
    const second = await ask(queries, { limit: '2', continue: first.metadata.continue! });
    const third = await ask(queries, { limit: '2', continue: second.metadata.continue! });
    expect([ids(second), ids(third), third.metadata.continue]).toEqual([['root-2', 'root-1'], ['root-0'], undefined]);
  });

  it.each<[Record<string, string>, string[]]>([
    [{ user: 'joe' }, ['root-1']],
    [{ user: 'admin' }, ['root-4']],
    [{ verb: 'DELETE' }, ['root-2']],
    [{ resource: 'deployments' }, ['root-3']],
    [{ resource: 'deployments.apps' }, ['root-3']],
    [{ resource: 'deployments.apps/scale' }, ['root-3']],
    [{ resource: 'deployments.batch' }, []],
    [{ namespace: 'other' }, ['root-3']],
    [{ name: 'api' }, ['root-3']],
    [{ code: '403' }, ['root-2']],
    [{ since: '2026-01-01T00:00:03Z' }, ['root-4', 'root-3']],
    [{ until: '2026-01-01T00:00:01Z' }, ['root-1', 'root-0']],
    [{ since: '2026-01-01T00:00:01Z', until: '2026-01-01T00:00:03Z', verb: 'create' }, ['root-3', 'root-1']],
  ])('selects by %j', async (parameters, expected) => {
    const scale = { objectRef: { resource: 'deployments', apiGroup: 'apps', subresource: 'scale', namespace: 'other', name: 'api' } };
    const lines = [
      event(0, 'root'),
      event(1, 'root', { user: { username: 'joe' } }),
      event(2, 'root', { verb: 'delete', responseStatus: { code: 403 } }),
      event(3, 'root', scale),
      event(4, 'root', { verb: 'patch', user: { username: 'root' }, impersonatedUser: { username: 'admin' } }),
    ];
    writeFileSync(file, lines.join(''));
    expect(ids(await ask(new AuditQueries({ file }), parameters))).toEqual(expected);
  });

  it.each([
    [{ limit: '0' }, /limit: expected a whole number from 1 to 1000, found "0"/],
    [{ limit: '9999' }, /limit/],
    [{ code: 'x' }, /code/],
    [{ since: 'yesterday' }, /since: expected a time such as/],
  ])('rejects %j', async (parameters, message) => {
    await expect(ask(new AuditQueries({ file }), parameters)).rejects.toThrow(message);
  });

  it('of a workspace sees no line of another, whatever that line contains', async () => {
    const forged = '"tenancy.kcp.io/workspace":"mine"';
    const lines = [
      event(0, 'mine'),
      event(1, 'other', {
        userAgent: forged,
        requestURI: `/x?${forged}`,
        requestObject: { annotations: { 'tenancy.kcp.io/workspace': 'mine' } },
      }),
      event(2, 'other', { annotations: { 'tenancy.kcp.io/workspace': 'mine' } }),
      event(3, 'mine-too'),
      event(4, '*'),
      event(5, ''),
      `{"kind":"Event","annotations":{${forged}`,
      `\n[${forged}]\n`,
    ];
    writeFileSync(file, lines.join(''));
    expect(ids(await ask(new AuditQueries({ file }), {}, 'mine'))).toEqual(['mine-0']);
  });

  it('of a workspace does not see how the platform knows users, nor where its accounts are', async () => {
    const admin = { user: { username: 'kubernetes-admin', groups: ['system:masters'] } };
    writeFileSync(file, event(0, 'mine') + event(1, 'mine', admin) + event(2, 'mine', { user: { username: 'system:capstan:x' } }));
    const { items } = await ask(new AuditQueries({ file }), {}, 'mine');
    expect(items.map(({ sourceIPs }) => sourceIPs)).toEqual([undefined, undefined, ['10.0.0.1']]);
    expect(JSON.stringify(items)).not.toContain('secret');
  });

  it('cannot go on with a token of another workspace, another installation or its own making', async () => {
    writeFileSync(file, [event(0, 'mine'), event(1, 'mine'), event(2, 'mine')].join(''));
    const queries = new AuditQueries({ file });
    const token = (await ask(queries, { limit: '1' }, 'mine')).metadata.continue!;
    expect(token).not.toContain(String(event(0, 'mine').length));
    const gone = { status: { code: 410, reason: 'Expired' } };
    await expect(ask(queries, { continue: token }, 'other')).rejects.toMatchObject(gone);
    await expect(ask(new AuditQueries({ file }), { continue: token }, 'mine')).rejects.toMatchObject(gone);
    for (const made of ['x', 'AAAA'.repeat(20), `${token}AAAA`]) {
      await expect(ask(queries, { continue: made }, 'mine')).rejects.toMatchObject(gone);
    }
    unlinkSync(file);
    writeFileSync(join(directory, 'audit-2026-01-01T00-00-00.000.log'), event(9, 'mine'));
    await expect(ask(queries, { continue: token }, 'mine')).rejects.toMatchObject(gone);
  });

  it('reads a part of a large log, says where to go on, and lets others work in between', async () => {
    const noise = event(1, 'other').repeat(2_000);
    writeFileSync(file, event(0, 'mine') + noise.repeat(10));
    const queries = new AuditQueries({ file, budget: 1 << 20 });
    let turns = 0;
    const ticking = setInterval(() => turns++, 0);
    let token: string | undefined;
    let asked = 0;
    const found: string[] = [];
    do {
      const page: List = await ask(queries, { ...(token !== undefined && { continue: token }) }, 'mine');
      found.push(...ids(page));
      token = page.metadata.continue;
      asked++;
    } while (token !== undefined && asked < 100);
    clearInterval(ticking);
    expect(found).toEqual(['mine-0']);
    expect(asked).toBeGreaterThan(3);
    expect(turns).toBeGreaterThan(asked);
  });

  it('does not read what is older than asked for', async () => {
    writeFileSync(file, event(0, 'mine').repeat(10_000) + event(3_000, 'other'));
    const list = await ask(new AuditQueries({ file, budget: 4_096 }), { since: '2026-01-01T00:45:00Z' }, 'mine');
    expect(list).toMatchObject({ metadata: {}, items: [] });
    expect(list.metadata.continue).toBeUndefined();
  });

  it('waits its turn: only a few read at the same time', async () => {
    writeFileSync(file, event(0, 'root').repeat(5_000));
    const queries = new AuditQueries({ file, concurrent: 1 });
    const lists = await Promise.all([ask(queries, { name: 'none' }), ask(queries, {}), ask(queries, { limit: '1' })]);
    expect(lists.map(({ items }) => items.length > 0)).toEqual([false, true, true]);
  });
});
