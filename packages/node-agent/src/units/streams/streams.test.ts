import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { duplexPair, PassThrough, Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';
import type { NodeUnitSpec } from '@capstan/api';
import {
  type AnsweringTunnel,
  answerTunnel,
  type ChannelMessage,
  channel,
  FramedChannels,
  openTunnel,
  type Tunnel,
} from '@capstan/streams';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { routeRequests } from '../../requests/router.ts';
import type { Moment } from '../../time/moment.ts';
import { startEngine, type TestEngine } from '../testing/engine.ts';
import { echoing, FakeDriver } from '../testing/fake-driver.ts';
import { nodeUnit } from '../testing/node-units.ts';
import { unitHandlers } from './handlers.ts';
import { serveUnitRoutes } from './node-routes.ts';

const patience = { timeout: 10_000, interval: 5 };
const directory = mkdtempSync(join(tmpdir(), 'capstan-unit-streams-'));
const driver = new FakeDriver();
let agent: TestEngine;
let tunnel: Tunnel;
let answering: AnsweringTunnel;
let web: Server;
let port: number;
let wall = 0;

beforeAll(async () => {
  const now = (): Moment => ({ wall: wall++, boot: 'boot', uptime: 1_000 });
  agent = await startEngine({ directory, driver, now });
  const uploads = { folder: (name: string) => agent.records.folder(name), limits: { bytes: 1 << 20, entries: 10 } };
  const handle = routeRequests({
    ...unitHandlers({ engine: agent.engine, uploads }),
    node: async (request) => {
      const served = serveUnitRoutes(request, { engine: agent.engine, secrets: agent.secrets, usage: { usage: [] } });
      if (served === false) return void request.respond(404).end();
      await served;
    },
  });
  const [near, far] = duplexPair();
  [tunnel, answering] = await Promise.all([openTunnel(near), answerTunnel(far, { handle })]);
  web = createServer((request, response) => {
    void text(request).then((body) => {
      response.writeHead(201, { 'x-answer': 'yes', connection: 'close' });
      response.end(JSON.stringify({ method: request.method, url: request.url, headers: request.headers, body }));
    });
  });
  web.on('upgrade', (request, socket) => {
    if (request.headers.upgrade !== 'websocket') return void socket.end('HTTP/1.1 400 Bad Request\r\ncontent-length: 2\r\n\r\nno');
    socket.write(
      'HTTP/1.1 101 Switching Protocols\r\nconnection: Upgrade\r\nupgrade: websocket\r\nsec-websocket-accept: abc\r\n\r\nhello ',
    );
    socket.on('data', (bytes: Buffer) => socket.write(bytes.toString().toUpperCase()));
    socket.on('end', () => socket.end());
  });
  await new Promise<void>((resolve) => web.listen(0, '127.0.0.1', resolve));
  ({ port } = web.address() as AddressInfo);
  driver.onConnect = (wanted) =>
    new Promise((resolve, reject) => {
      const socket = connect(wanted === 8080 ? port : 1, '127.0.0.1', () => resolve(socket)).once('error', reject);
    });
});
afterAll(async () => {
  tunnel.destroy();
  answering.destroy();
  web.close();
  await agent[Symbol.asyncDispose]();
  rmSync(directory, { recursive: true });
});

const owner = (name: string, { cluster = 'c1', namespace = 'default', uid = `uid-of-${name}` } = {}) => ({ cluster, namespace, name, uid });
async function runUnit(name: string, spec: Partial<NodeUnitSpec>): Promise<void> {
  await agent.engine.accept(nodeUnit(name, spec));
  await vi.waitFor(
    () =>
      expect(agent.status(name)).toMatchObject(
        spec.secrets || spec.upload ? { reason: expect.any(String) as string } : { phase: 'Running' },
      ),
    patience,
  );
}
const ask = async (method: string, path: string, { body, headers = {} }: { body?: string; headers?: Record<string, string> } = {}) => {
  const response = await tunnel.request({
    method,
    path,
    headers,
    ...(body !== undefined && { body: Readable.from([Buffer.from(body)]) }),
    signal: new AbortController().signal,
  });
  // HTTP/2 drops a body that nobody has begun to read when the stream ends.
  response.stream.pause();
  return response;
};
async function answerTo(method: string, path: string, more: Parameters<typeof ask>[2] = {}): Promise<{ status: number; body: string }> {
  const { status, stream } = await ask(method, path, more);
  if (more?.body === undefined) stream.end();
  return { status, body: await bodyOf(stream) };
}
/** `text` takes an HTTP/2 stream for broken when it is closed as soon as its peer has sent everything. */
const bodyOf = (stream: Readable): Promise<string> =>
  new Promise((resolve, reject) => {
    let body = '';
    // One that is empty has ended with its head.
    if (stream.readableEnded) return resolve('');
    stream.on('data', (bytes: Buffer) => (body += bytes.toString())).on('end', () => resolve(body));
    stream.on('error', reject).on('close', () => reject(new Error('cut off')));
    stream.resume();
  });
const messageOf = ({ body }: { body: string }): string => (JSON.parse(body) as { message: string }).message;

/** Everything that a command says, by channel, and its Status. */
async function converse(
  path: string,
  messages: ChannelMessage[],
): Promise<{ out: Record<number, string>; status: Record<string, unknown> }> {
  const { status: code, stream } = await ask('POST', path);
  expect(code).toBe(200);
  const channels = new FramedChannels(stream);
  channels.on('error', () => {});
  for (const message of messages) channels.write(message);
  const out: Record<number, string> = {};
  for await (const { channel: number, payload } of channels as AsyncIterable<ChannelMessage>)
    out[number] = (out[number] ?? '') + payload.toString();
  return { out, status: JSON.parse(out[channel.error] ?? '{}') as Record<string, unknown> };
}
const stdin = (payload: string | Buffer): ChannelMessage => ({ channel: channel.stdin, payload: Buffer.from(payload as string) });
const closeStdin: ChannelMessage = { channel: channel.close, payload: Buffer.from([channel.stdin]) };
const all = 'stdin=true&stdout=true&stderr=true';

describe('commands', () => {
  beforeAll(() => runUnit('cmd-1', { owner: owner('cmd') }));

  test('get their input and the size of their terminal, and their exit code is a Status', async () => {
    const streams = echoing(3);
    let wanted: object | undefined;
    driver.onExec = (command) => {
      wanted = command;
      return streams;
    };
    const resize = { channel: channel.resize, payload: Buffer.from('{"Width":120,"Height":40}') };
    const { out, status } = await converse(`/exec/c1/default/cmd/unit?command=sh&command=-c&tty=true&${all}`, [
      resize,
      stdin('hello'),
      closeStdin,
    ]);
    expect(wanted).toEqual({ command: ['sh', '-c'], stdin: true, tty: true });
    expect([out[channel.stdout], out[channel.stderr], streams.sizes]).toEqual(['hello', 'bye', [{ columns: 120, rows: 40 }]]);
    expect(status).toMatchObject({
      status: 'Failure',
      reason: 'NonZeroExitCode',
      details: { causes: [{ reason: 'ExitCode', message: '3' }] },
    });
  });

  test('that succeed say so, and send only the output that was asked for', async () => {
    driver.onExec = () => echoing(0);
    const { out, status } = await converse('/attach/c1/default/cmd/unit?stdin=true&stderr=true', [stdin('secret'), closeStdin]);
    expect([status['status'], out[channel.stdout], out[channel.stderr]]).toEqual(['Success', undefined, 'bye']);
  });

  test('whose end nobody has seen are no success', async () => {
    driver.onExec = () => ({ stdout: Readable.from([]), exited: Promise.resolve(undefined), close: () => {} });
    const { status } = await converse(`/exec/c1/default/cmd/unit?command=x&${all}`, [closeStdin]);
    expect(status).toMatchObject({ status: 'Failure', message: 'the unit ended before the command, whose exit code is not known' });
  });

  test('end with their client', async () => {
    const streams = echoing(0);
    driver.onExec = () => streams;
    const { stream } = await ask('POST', `/exec/c1/default/cmd/unit?command=sleep&${all}`);
    stream.destroy();
    await vi.waitFor(() => expect(streams.isClosed()).toBe(true), patience);
  });

  test('that read slowly slow down their client, and lose nothing', async () => {
    const slow = new PassThrough({ highWaterMark: 16 });
    const [stdout, exited] = [new PassThrough(), Promise.withResolvers<number>()];
    driver.onExec = () => ({ stdin: slow, stdout, exited: exited.promise, close: () => {} });
    const sent = 'x'.repeat(300_000);
    const conversation = converse(`/exec/c1/default/cmd/unit?command=x&${all}`, [stdin(sent), stdin('end'), closeStdin]);
    const received = await text(slow);
    stdout.end();
    exited.resolve(0);
    expect(received).toBe(`${sent}end`);
    expect((await conversation).status['status']).toBe('Success');
  });

  test.each([
    ['/exec/c1/default/cmd/unit?stdout=true', 400, 'expected a command'],
    ['/exec/c1/default/cmd/sidecar?command=ls', 400, 'container sidecar is not valid for pod cmd'],
    ['/exec/c1/default/cmd/upload?command=ls', 400, 'container upload is not valid for pod cmd'],
    ['/attach/c1/default/cmd/upload?stdin=true', 400, 'container upload is not valid for pod cmd'],
    ['/exec/c2/default/cmd/unit?command=ls', 404, 'this node has no unit cmd of the namespace default'],
    ['/exec/c1/other/cmd/unit?command=ls', 404, 'this node has no unit cmd of the namespace other'],
    ['/exec/c1/default/cm/unit?command=ls', 404, 'this node has no unit cm of the namespace default'],
    ['/exec/c1/default/cmd-1/unit?command=ls', 404, 'this node has no unit cmd-1 of the namespace default'],
  ])('%s are refused with %i', async (path, code, message) => {
    const reply = await answerTo('POST', path);
    expect([reply.status, messageOf(reply)]).toEqual([code, message]);
  });

  test('of units that do not run are refused', async () => {
    await runUnit('over-1', { owner: owner('over') });
    driver.exit('over-1', 0);
    await vi.waitFor(() => expect(agent.status('over-1')?.phase).toBe('Ended'), patience);
    expect(messageOf(await answerTo('POST', '/exec/c1/default/over/unit?command=ls'))).toBe('unit over does not run: it is Ended');
    await runUnit('wait-1', { owner: owner('wait'), secrets: true });
    const waiting = await answerTo('POST', '/exec/c1/default/wait/unit?command=ls');
    expect(messageOf(waiting)).toBe('container "unit" in pod "wait" is waiting to start: SecretsMissing');
  });
});

describe('streams of two workspaces', () => {
  const paths = (cluster: string) => [
    ['GET', `/logs/${cluster}/default/twin/unit`],
    ['POST', `/exec/${cluster}/default/twin/unit?command=ls`],
    ['POST', `/attach/${cluster}/default/twin/unit`],
    ['POST', `/portforward/${cluster}/default/twin?port=8080`],
    ['GET', `/proxy/${cluster}/default/twin/8080/`],
  ];

  test('never mix, although their units have the same name', async () => {
    await runUnit('twin-1', { owner: owner('twin', { cluster: 'mine', uid: 'a' }) });
    for (const [method, path] of paths('theirs')) expect((await answerTo(method!, path!)).status).toBe(404);
    await runUnit('twin-2', { owner: owner('twin', { cluster: 'theirs', uid: 'b' }) });
    const attached: string[] = [];
    const original = driver.exec.bind(driver);
    vi.spyOn(driver, 'exec').mockImplementation((id, command) => {
      attached.push(id);
      return original(id, command);
    });
    driver.onExec = () => echoing(0);
    for (const cluster of ['mine', 'theirs']) await converse(`/exec/${cluster}/default/twin/unit?command=ls&${all}`, [closeStdin]);
    expect(attached).toEqual(['twin-1', 'twin-2']);
    vi.restoreAllMocks();
  });

  test('lead to the newest start', async () => {
    for (const run of [2, 10, 9]) {
      await runUnit(`again-${run}`, { owner: owner('again'), run });
      const file = join(directory, `again-${run}`);
      writeFileSync(file, `2031-01-01T00:00:00Z stdout F run ${run}\n`);
      driver.logs.set(`again-${run} 0`, { files: [file], complete: true });
    }
    expect((await answerTo('GET', '/logs/c1/default/again/unit')).body).toBe('run 10\n');
    await runUnit('fresh-1', { owner: owner('again', { uid: 'another' }), run: 1 });
    const early = await answerTo('GET', '/logs/c1/default/again/unit');
    expect([early.status, messageOf(early)]).toEqual([400, 'container "unit" in pod "again" is waiting to start: ContainerCreating']);
  });
});

describe('logs', () => {
  test('are those of the present program, or of the one before', async () => {
    await runUnit('log-1', { owner: owner('log'), restartPolicy: 'Always' });
    for (const incarnation of [0, 1]) {
      const file = join(directory, `log-${incarnation}`);
      writeFileSync(file, `2031-01-01T00:00:00Z stdout F program ${incarnation}\n`);
      driver.logs.set(`log-1 ${incarnation}`, { files: [file], complete: true });
    }
    const previous = await answerTo('GET', '/logs/c1/default/log/unit?previous=true');
    expect([previous.status, messageOf(previous)]).toEqual([400, 'previous terminated container "unit" in pod "log" not found']);
    driver.exit('log-1', 1);
    await vi.waitFor(() => expect(driver.starts).toContain('log-1 1'), patience);
    expect((await answerTo('GET', '/logs/c1/default/log/unit')).body).toBe('program 1\n');
    expect((await answerTo('GET', '/logs/c1/default/log/unit?previous=true')).body).toBe('program 0\n');
    expect((await answerTo('GET', '/logs/c1/default/log/unit?tailLines=x')).status).toBe(400);
    expect((await answerTo('GET', '/logs/c1/default/log/other')).status).toBe(400);
  });

  test('are awaited by those who name the start, before the node has heard of it', async () => {
    const asked = ask('GET', '/logs/c1/default/soon/unit?follow=true&start=soon-1');
    const others = ask('GET', '/logs/c2/default/soon/unit?follow=true&start=soon-1');
    const file = join(directory, 'soon');
    writeFileSync(file, '2031-01-01T00:00:00Z stdout F first line\n');
    driver.logs.set('soon-1 0', { files: [file], complete: true });
    await agent.engine.accept(nodeUnit('soon-1', { owner: owner('soon'), upload: true }));
    const { status, stream } = await asked;
    expect([status, (await others).status]).toEqual([200, 404]);
    let text = '';
    const ended = new Promise((resolve) => stream.on('data', (bytes: Buffer) => (text += bytes.toString())).on('end', resolve));
    stream.end();
    stream.resume();
    expect(text).toBe('');
    await agent.engine.find('soon-1')!.uploaded();
    await ended;
    expect(text).toBe('first line\n');
  });

  test('of a start that ends without a program are empty', async () => {
    const asked = answerTo('GET', '/logs/c1/default/never/unit?follow=true&start=never-1');
    await agent.engine.accept(nodeUnit('never-1', { owner: owner('never'), upload: true }));
    agent.engine.find('never-1')!.stop({ reason: 'Stopped', message: '' });
    expect(await asked).toEqual({ status: 200, body: '' });
  });

  test('stay for a while when the unit is removed, and nothing else does', async () => {
    await agent.engine.remove('log-1');
    await vi.waitFor(async () => expect(await driver.list()).not.toContain('log-1'), patience);
    await vi.waitFor(async () => expect((await answerTo('GET', '/logs/c1/default/log/unit')).body).toBe('program 1\n'), patience);
    expect((await answerTo('GET', '/logs/c1/default/log/unit?previous=true')).body).toBe('program 0\n');
    expect((await answerTo('GET', '/logs/c2/default/log/unit')).status).toBe(404);
    expect((await answerTo('POST', '/exec/c1/default/log/unit?command=ls')).status).toBe(404);
  });
});

describe('ports', () => {
  beforeAll(() => runUnit('web-1', { owner: owner('web'), ports: [{ name: 'http', port: 8080 }] }));

  test('are forwarded', async () => {
    const { status, stream } = await ask('POST', '/portforward/c1/default/web?port=8080');
    expect(status).toBe(200);
    stream.end('GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n');
    expect(await bodyOf(stream)).toContain('HTTP/1.1 201 Created');
  });

  test.each([
    ['/portforward/c1/default/web?port=9', 503],
    ['/portforward/c1/default/web?port=0', 400],
    ['/portforward/c1/default/web?port=99999', 400],
    ['/portforward/c1/default/web?port=nothing', 400],
    ['/portforward/c1/default/nobody?port=8080', 404],
  ])('%s are refused with %i', async (path, code) => {
    expect((await answerTo('POST', path)).status).toBe(code);
  });

  test('answer HTTP requests, also those with a body, and do not learn who asked', async () => {
    const { status, body } = await answerTo('PUT', '/proxy/c1/default/web/http/a%20b?c=d&e=%20', {
      body: 'content',
      headers: { 'capstan-user': 'ada', 'x-own': '1' },
    });
    const seen = JSON.parse(body) as { headers: Record<string, string> };
    expect([status, seen]).toMatchObject([201, { method: 'PUT', url: '/a%20b?c=d&e=%20', body: 'content', headers: { 'x-own': '1' } }]);
    expect(seen.headers).not.toHaveProperty('capstan-user');
    expect((await answerTo('GET', '/proxy/c1/default/web/9/')).status).toBe(503);
  });

  test('change protocols', async () => {
    const { status, headers, stream } = await ask('POST', '/proxy/c1/default/web/8080/socket', {
      headers: { 'capstan-upgrade': 'websocket' },
    });
    expect([status, headers]).toMatchObject([200, { 'capstan-upgraded': 'true', 'sec-websocket-accept': 'abc' }]);
    stream.end('ada');
    expect(await bodyOf(stream)).toBe('hello ADA');
    const refused = await ask('POST', '/proxy/c1/default/web/8080/socket', { headers: { 'capstan-upgrade': 'h2c' } });
    expect([refused.status, refused.headers['capstan-upgraded']]).toEqual([400, undefined]);
    refused.stream.destroy();
  });
});

describe('uploads', () => {
  const block = (name: string, content: string): Buffer => {
    const head = Buffer.alloc(512);
    head.write(name, 0);
    head.write('0000644\0', 100);
    head.write(`${content.length.toString(8).padStart(11, '0')}\0`, 124);
    head.write('        ', 148);
    head.write('0', 156);
    head.write(
      `${head
        .reduce((sum, byte) => sum + byte, 0)
        .toString(8)
        .padStart(6, '0')}\0 `,
      148,
    );
    return Buffer.concat([head, Buffer.from(content.padEnd(512, '\0'))]);
  };
  const archive = (...files: [string, string][]): Buffer =>
    gzipSync(Buffer.concat([...files.map(([name, content]) => block(name, content)), Buffer.alloc(1024)]));
  const path = '/attach/c1/default/up/upload?stdin=true&stdout=true&stderr=true';

  test('go on only with a whole archive, and only once', async () => {
    await runUnit('up-1', { owner: owner('up'), upload: true });
    const broken = await converse(path, [stdin(archive(['../../record.json', 'x'])), closeStdin]);
    expect(broken.status).toMatchObject({ status: 'Failure', message: expect.stringContaining('leads out of the directory') as string });
    expect(broken.out[channel.stderr]).toContain('leads out');
    expect(agent.status('up-1')?.phase).toBe('Waiting');
    const cut = await ask('POST', path);
    cut.stream.write(Buffer.from([0, 0, 0, 0, 1, 31]));
    cut.stream.destroy();
    await vi.waitFor(() => expect(agent.engine.find('up-1')?.isUploading).toBe(false), patience);
    expect(existsSync(join(agent.records.folder('up-1'), 'uploads.new'))).toBe(false);
    const bytes = archive(['train.py', 'print(1)']);
    const pieces = [stdin(bytes.subarray(0, 7)), stdin(bytes.subarray(7)), closeStdin];
    expect((await converse(path, pieces)).status['status']).toBe('Success');
    await vi.waitFor(() => expect(agent.status('up-1')?.phase).toBe('Running'), patience);
    expect(readFileSync(join(driver.rooms.get('up-1 0')!.room.uploads!, 'train.py'), 'utf8')).toBe('print(1)');
    expect(messageOf(await answerTo('POST', path))).toBe('unit up does not wait for files');
    expect((await answerTo('GET', '/logs/c1/default/up/upload')).status).toBe(200);
  });
});

describe('secrets', () => {
  test('are taken for units that wait for them, and are never repeated', async () => {
    await runUnit('sec-1', { owner: owner('sec'), secrets: true });
    const body = JSON.stringify({ env: { TOKEN: 'hidden' } });
    expect((await answerTo('PUT', '/node/units/sec-1/secrets', { body })).status).toBe(200);
    await vi.waitFor(() => expect(agent.status('sec-1')?.phase).toBe('Running'), patience);
    expect(driver.rooms.get('sec-1 0')!.room.environment['TOKEN']).toBe('hidden');
    for (const [target, sent, code] of [
      ['sec-1', '{"env": {"A": "hidden"', 400],
      ['sec-1', '{"env": {"A B": "hidden"}}', 400],
      ['sec-1', '{"env": {"A": 1}}', 400],
      ['sec-1', '[]', 400],
      ['web-1', body, 409],
      ['nobody-1', body, 404],
    ] as const) {
      const reply = await answerTo('PUT', `/node/units/${target}/secrets`, { body: sent });
      expect([reply.status, reply.body.includes('hidden')]).toEqual([code, false]);
    }
    expect((await answerTo('GET', '/node/units/sec-1/secrets')).status).toBe(405);
  });

  test('and usage have their own paths', async () => {
    expect(await answerTo('GET', '/node/units/usage')).toEqual({ status: 200, body: '{"units":[]}' });
    expect((await answerTo('GET', '/node/units')).status).toBe(404);
  });
});
