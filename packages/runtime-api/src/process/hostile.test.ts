import { connect } from 'node:net';
import { restPath } from '@capstan/api';
import { ConnectionError, type Transport } from '@capstan/client';
import { Metrics } from '@capstan/machinery';
import { UpstreamHealth } from '@capstan/serving';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type RestServer, startRestServer } from './server.ts';

/** Paths that reached the API server. */
const reached: string[] = [];
const transport: Transport = {
  send: ({ path }) => {
    reached.push(path);
    return Promise.reject(new ConnectionError('failed', 'nobody is there'));
  },
  [Symbol.dispose]: () => {},
};

const log: string[] = [];
let server: RestServer;
beforeAll(async () => {
  server = await startRestServer({
    host: '127.0.0.1',
    port: 0,
    transport,
    health: new UpstreamHealth(transport),
    metrics: new Metrics(),
    log: (line) => log.push(line),
    limits: { body: 10_000, headersWithin: 200, requestWithin: 400, connections: { perAddress: 20, overall: 1_000 } },
  });
});
afterAll(() => server[Symbol.asyncDispose]());

/** Sends bytes as they are; resolves with everything that comes back until the connection ends. */
function raw(bytes: string): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(server.port, '127.0.0.1');
    let text = '';
    socket.setEncoding('utf8').on('data', (piece: string) => (text += piece));
    socket.on('error', () => {});
    socket.on('close', () => resolve(text));
    socket.write(bytes);
  });
}

const request = (target: string, more = '', body = ''): string =>
  `${body === '' ? 'GET' : 'POST'} ${target} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer t\r\nConnection: close\r\n${more}${
    body === '' ? '' : `Content-Length: ${Buffer.byteLength(body)}\r\n`
  }\r\n${body}`;

const codeIn = (text: string): unknown => (JSON.parse(text.slice(text.indexOf('\r\n\r\n') + 4)) as { code: unknown }).code;

describe('a hostile address', () => {
  test.each([
    ['/api/v1/gpu-units/..%2f..%2fsecrets', 'invalid_path'],
    ['/api/v1/gpu-units/%2e%2e', 'invalid_path'],
    ['/api/v1/../../api/v1/secrets', 'invalid_path'],
    ['/api/v1/gpu-units/..', 'invalid_path'],
    ['/api/v1//gpu-units', 'invalid_path'],
    ['/api/v1/gpu-units/a%5cb', 'invalid_path'],
    ['/api/v1/gpu-units/a%00b', 'invalid_path'],
    ['/api/v1/gpu-units/%zz', 'invalid_path'],
    ['/api/v1/gpu-units/%252e%252e', 'invalid_path'],
    ['/api/v1/gpu-units/UPPER', 'invalid_path'],
    [`/api/v1/gpu-units/${'a'.repeat(300)}`, 'invalid_path'],
    ['/clusters/..%2froot/api/v1/gpu-units', 'invalid_path'],
    ['/clusters/*/api/v1/gpu-units', 'invalid_path'],
    ['/clusters/root:a%2f..%2fb/api/v1/gpu-units', 'invalid_path'],
    ['/clusters/', 'invalid_path'],
    ['/clusters/root/api/v1/gpu-units?namespace=../kube-system', 'invalid_parameter'],
    ['/clusters/root/api/v1/gpu-units?namespace=a%2fb', 'invalid_parameter'],
    [`/api/v1/gpu-units?${'a=b&'.repeat(100)}`, 'invalid_parameter'],
    [`/api/v1/gpu-units?label=${'x'.repeat(9_000)}`, 'uri_too_long'],
    ['/api/v1/constructor', 'route_not_found'],
    ['/api/v1/__proto__/x', 'route_not_found'],
    ['http://evil.example/api/v1/gpu-units', 'route_not_found'],
    ['/apis/compute.capstan.dev/v1alpha1/gpuunits', 'route_not_found'],
  ])('%s is refused before anything is asked', async (target, code) => {
    reached.length = 0;
    expect(codeIn(await raw(request(target)))).toBe(code);
    expect(reached).toEqual([]);
  });

  test('cannot leave the collection that it names', async () => {
    reached.length = 0;
    await raw(request('/clusters/root/api/v1/gpu-units?label=a%26watch%3Dtrue%23&continue=x%26limit%3D1'));
    const [path] = reached as [string];
    const { pathname, searchParams } = new URL(path, 'http://x');
    expect(pathname).toBe('/clusters/root/apis/compute.capstan.dev/v1alpha1/namespaces/default/gpuunits');
    expect([...searchParams]).toEqual([
      ['limit', '100'],
      ['labelSelector', 'a&watch=true#'],
      ['continue', 'x&limit=1'],
    ]);
  });
});

test('a connection goes on after a request that was refused', async () => {
  const refused = `GET ${restPath}/gpu-units HTTP/1.1\r\nHost: x\r\n\r\n`;
  const text = await raw(`${refused}${request(`${restPath}/docs`)}`);
  expect(text.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 401', 'HTTP/1.1 200']);
});

describe('a hostile body', () => {
  const post = async (body: string, type = 'application/json') =>
    codeIn(await raw(request('/clusters/root/api/v1/gpu-units', `Content-Type: ${type}\r\n`, body)));

  test.each([
    ['{"a":', 'invalid_json'],
    ['[]', 'invalid_json'],
    ['null', 'invalid_json'],
    ['"x"', 'invalid_json'],
    [`${'{"a":'.repeat(65)}1${'}'.repeat(65)}`, 'invalid_json'],
    ['['.repeat(9_000), 'invalid_json'],
    [`{"a":"${'x'.repeat(10_001)}"}`, 'body_too_large'],
    ['{"__proto__":{"x":1}}', 'validation_failed'],
    ['{"constructor":{}}', 'validation_failed'],
    ['{"name":{}}', 'validation_failed'],
    ['{"labels":[]}', 'validation_failed'],
    ['\u0000', 'invalid_json'],
  ])('%.30s is refused', async (body, code) => expect(await post(body)).toBe(code));

  test('of another type is refused', async () => expect(await post('a: 1', 'application/yaml')).toBe('unsupported_media_type'));

  test('that is longer than it says, or has no length, is bounded', async () => {
    const chunked = `POST /clusters/root/api/v1/gpu-units HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer t\r\nTransfer-Encoding: chunked\r\n\r\n`;
    const text = await raw(`${chunked}4000\r\n${'x'.repeat(0x4000)}\r\n`);
    expect(codeIn(text)).toBe('body_too_large');
    expect(text).toMatch(/connection: close/i);
  });
});

describe('a hostile connection', () => {
  test('that sends no request gets a problem', async () => {
    expect(codeIn(await raw('\u0016\u0003\u0001\r\n\r\n'))).toBe('invalid_request');
    expect(codeIn(await raw(`GET ${restPath}/health HTTP/1.1\r\nHost: x\r\nX: ${'y'.repeat(70_000)}\r\n\r\n`))).toBe('headers_too_large');
  });

  test('that never ends its headers or its body is closed', async () => {
    expect(codeIn(await raw('GET / HTTP/1.1\r\nHost: x\r\n'))).toBe('request_timeout');
    const text = await raw(
      'POST /clusters/root/api/v1/gpu-units HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer t\r\nContent-Length: 100\r\n\r\n{',
    );
    expect(codeIn(text)).toBe('request_timeout');
  });

  test('is one of a limited number from its address', async () => {
    const sockets = Array.from({ length: 40 }, () =>
      connect(server.port, '127.0.0.1')
        .on('error', () => {})
        .resume(),
    );
    const closed = sockets.map((socket) => new Promise<boolean>((resolve) => socket.once('close', () => resolve(true))));
    // Those within the limit are closed only when they send nothing.
    await Promise.all(closed);
    await expect.poll(async () => (await raw(request(`${restPath}/docs`))).slice(0, 12)).toBe('HTTP/1.1 200');
  });
});

test('an API server that is gone is a problem that says so', async () => {
  expect(codeIn(await raw(request('/clusters/root/api/v1/gpu-units')))).toBe('unavailable');
  const health = await raw(request(`${restPath}/health`));
  expect(health).toMatch(/^HTTP\/1.1 503.*"status":"unavailable"/s);
});

test('nothing of this is logged as a failure', () => expect(log).toEqual([]));
