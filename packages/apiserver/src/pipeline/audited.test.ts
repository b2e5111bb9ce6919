import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { AuditLog } from '../audit/log.ts';
import type { AnswerKeeper, Exchange } from '../http/exchange.ts';
import { startTestServer } from '../testing/harness.ts';
import { Audited } from './audited.ts';

const path = '/api/v1/namespaces/default/configmaps';
const jane = { name: 'jane', groups: ['system:authenticated'] };

describe('in blocking mode', () => {
  test('sends a response only after its record is in the file, however many are pending', async () => {
    await using server = await startTestServer();
    const file = join(server.directory, 'audit.log');
    const write = async (name: string): Promise<void> => {
      const reply = await server.call(path, { method: 'POST', body: { metadata: { name } } });
      expect(reply.code).toBe(201);
      expect(readFileSync(file, 'utf8')).toContain(`"auditID":"${String(reply.headers['audit-id'])}","stage":"ResponseComplete"`);
    };
    await Promise.all(Array.from({ length: 40 }, (_, index) => write(`held-${index}`)));
  });

  test('records a rejection once, with its code, before it is sent', async () => {
    await using server = await startTestServer();
    const reply = await server.call(path, { anonymous: true });
    const lines = readFileSync(join(server.directory, 'audit.log'), 'utf8').trim().split('\n');
    const own = lines.filter((line) => line.includes(String(reply.headers['audit-id'])));
    expect(own.map((line) => JSON.parse(line).responseStatus.code)).toEqual([403]);
  });

  test('responds when the log cannot be written', async () => {
    const said: string[] = [];
    await using server = await startTestServer({ log: (line) => said.push(line), audit: { file: '/dev/null/audit.log' } });
    expect((await server.call(path, { method: 'POST', body: { metadata: { name: 'unrecorded' } } })).code).toBe(201);
    expect(said).toEqual([expect.stringContaining('the audit log is incomplete')]);
  });

  test('holds a response until the log releases it, and records it once', async () => {
    const recorded: string[] = [];
    let written = (): void => {};
    const log = logThat('blocking', (stage, done) => {
      recorded.push(stage);
      if (done !== undefined) written = done;
    });
    const exchange = exchangeStub();
    const audited = new Audited(log, exchange, 'id');
    audited.begin(attributes);
    audited.admitted();
    const { sent, keeper } = exchange;
    expect(keeper?.holds).toBe(true);
    keeper!.hold(() => sent.push('answer'));
    audited.end();
    expect([recorded, sent]).toEqual([['RequestReceived', 'ResponseComplete'], []]);
    written();
    expect(sent).toEqual(['answer']);
  });
});

describe('a rejected request', () => {
  const everything = { rules: [{ level: 'Metadata' as const }] };
  const eventsOf = (directory: string): { stage: string; verb: string; user: { username: string }; responseStatus?: { code: number } }[] =>
    readFileSync(join(directory, 'audit.log'), 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));

  test('has one record, while an allowed one has two', async () => {
    await using server = await startTestServer({ audit: { policy: everything } });
    await server.call(path, { anonymous: true });
    await server.call(path);
    const stages = (user: string): string[] =>
      eventsOf(server.directory)
        .filter(({ user: { username } }) => username === user)
        .map(({ stage }) => stage);
    expect(stages('system:anonymous')).toEqual(['ResponseComplete']);
    expect(stages('kubernetes-admin')).toEqual(['RequestReceived', 'ResponseComplete']);
  });

  test('names its sender, even if it is rejected before its target is known', async () => {
    const tokens = 'secret,jane,1';
    await using server = await startTestServer({ tokens });
    const headers = { authorization: 'Bearer secret', 'impersonate-user': 'admin' };
    expect((await server.call(path, { anonymous: true, headers })).code).toBe(403);
    expect(eventsOf(server.directory)).toMatchObject([{ user: { username: 'jane' }, responseStatus: { code: 403 } }]);
  });

  test('with long URLs, sent repeatedly, leaves a few short lines and a count', async () => {
    await using server = await startTestServer();
    const times = 300;
    for (let index = 0; index < times; index++) {
      const url = `${path}/${index}?${'x'.repeat(20_000)}`;
      expect((await server.call(url, { anonymous: true, headers: { 'user-agent': 'y'.repeat(10_000) } })).code).toBe(403);
    }
    expect((await server.call(path, { method: 'POST', body: { metadata: { name: 'allowed' } } })).code).toBe(201);
    const { text } = await server.call('/metrics');
    const aggregated = Number(/^capstan_audit_aggregated_total (\d+)$/m.exec(text)![1]);
    const events = eventsOf(server.directory);
    const denied = events.filter(({ responseStatus }) => responseStatus?.code === 403);
    expect(denied.length).toBeLessThan(10);
    expect(denied.length + aggregated).toBe(times);
    expect(events.filter(({ verb }) => verb === 'create')).toHaveLength(1);
    expect(JSON.stringify(denied).length).toBeLessThan(denied.length * 4_000);
  });
});

test('holds no response in batch mode', () => {
  const exchange = exchangeStub();
  new Audited(
    logThat('batch', () => {}),
    exchange,
    'id',
  ).begin(attributes);
  expect(exchange.keeper).toBeUndefined();
});

test('records the code of a response that is compressed in the background', async () => {
  await using server = await startTestServer({ audit: { policy: { rules: [{ level: 'Metadata' }] } } });
  for (let index = 0; index < 3; index++)
    await server.call(path, { method: 'POST', body: { metadata: { name: `big-${index}` }, data: { a: 'x'.repeat(100_000) } } });
  const reply = await server.call(path, { headers: { 'accept-encoding': 'gzip' } });
  expect(reply.headers['content-encoding']).toBe('gzip');
  const line = readFileSync(join(server.directory, 'audit.log'), 'utf8')
    .split('\n')
    .find((one) => one.includes(`"auditID":"${String(reply.headers['audit-id'])}","stage":"ResponseComplete"`));
  expect(JSON.parse(line!).responseStatus.code).toBe(200);
});

const attributes = {
  cluster: 'root',
  user: jane,
  verb: 'create',
  isResource: true,
  group: '',
  version: 'v1',
  resource: 'configmaps',
  subresource: '',
  namespace: 'default',
  name: '',
  path,
};

function logThat(mode: 'blocking' | 'batch', record: (stage: string, done?: () => void) => void): AuditLog {
  const recording = { level: 'Metadata', omitStages: [], omitManagedFields: true } as const;
  return {
    mode,
    recordingOf: () => recording,
    denials: undefined,
    dropped: 0,
    droppedBySinks: 0,
    aggregated: 0,
    record: (request, _recording, done) => record(request.stage, done),
    [Symbol.asyncDispose]: async () => {},
  };
}

function exchangeStub(): Exchange & { sent: string[]; keeper: AnswerKeeper | undefined } {
  return {
    method: 'POST',
    url: path,
    headers: {},
    remoteAddress: '127.0.0.1',
    answered: true,
    closed: false,
    code: 201,
    sent: [],
  } as never;
}
