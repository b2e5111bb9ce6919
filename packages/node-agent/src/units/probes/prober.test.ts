import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, connect, createServer, type Server } from 'node:net';
import { PassThrough } from 'node:stream';
import type { UnitProbe } from '@capstan/api';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { FakeDriver } from '../testing/fake-driver.ts';
import { once, probe } from './prober.ts';

const servers: Server[] = [];
let [web, silent] = [0, 0];
const driver = new FakeDriver();
let isWell = true;
beforeAll(async () => {
  const listen = (server: Server): Promise<number> =>
    new Promise((resolve) => servers.push(server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port))));
  web = await listen(
    createHttpServer((request, response) => {
      const codes: Record<string, number> = { '/': 200, '/moved': 302, '/lost': 404 };
      response.writeHead(isWell ? codes[request.url!]! : 503).end('x');
    }),
  );
  silent = await listen(createServer(() => {}));
  driver.onConnect = (port) =>
    new Promise((resolve, reject) => {
      const socket = connect(port, '127.0.0.1', () => resolve(socket)).once('error', reject);
    });
});
afterAll(() => {
  for (const server of servers) server.close();
});
const usual = { initialDelay: '0s', period: '0s', timeout: '5s', failures: 2 };
const unit = (more: object = {}) => ({ id: 'u', spec: { ports: [{ name: 'web', port: web }], ...more }, driver });
const none = new AbortController().signal;
const ask = (wanted: Partial<UnitProbe>): Promise<string | undefined> => once(unit(), { ...usual, ...wanted }, none);

describe('a probe', () => {
  test('of HTTP takes 200 to 399, at a port by number or name', async () => {
    expect(await ask({ http: { path: '/', port: web } })).toBeUndefined();
    expect(await ask({ http: { path: '/moved', port: 'web' } })).toBeUndefined();
    expect(await ask({ http: { path: '/lost', port: 'web' } })).toBe('the answer was 404');
    expect(await ask({ http: { path: '/', port: 'other' } })).toBe('the unit has no port other');
    expect(await ask({ http: { path: '/', port: silent }, timeout: '20ms' })).toBe('no answer within 20ms');
  });

  test('of TCP takes any connection', async () => {
    expect(await ask({ tcp: { port: silent } })).toBeUndefined();
    expect(await ask({ tcp: { port: 1 } })).toContain('ECONNREFUSED');
  });

  test.each([
    [0, undefined],
    [3, 'the command ended with exit code 3'],
  ])('of a command that ends with %i says %s', async (code, expected) => {
    const output = (): PassThrough => new PassThrough().end('x');
    driver.onExec = () => ({ stdout: output(), stderr: output(), exited: Promise.resolve(code), close: () => {} });
    expect(await ask({ command: ['check'] })).toBe(expected);
  });

  test('of a command that hangs ends it', async () => {
    const close = vi.fn();
    driver.onExec = () => ({ stdout: new PassThrough(), exited: new Promise(() => {}), close });
    expect(await ask({ command: ['check'], timeout: '20ms' })).toBe('no answer within 20ms');
    expect(close).toHaveBeenCalled();
  });

  test('makes a unit ready and unready, and reports an unhealthy one once so many have failed', async () => {
    const stop = new AbortController();
    let isReady: boolean | undefined;
    const unhealthy: string[] = [];
    const wanted = { ...usual, http: { path: '/', port: web } };
    const results = { ready: (ready: boolean) => void (isReady = ready), unhealthy: (message: string) => void unhealthy.push(message) };
    probe(unit({ readiness: wanted, liveness: wanted }), results, stop.signal);
    await vi.waitFor(() => expect(isReady).toBe(true));
    expect(unhealthy).toEqual([]);
    isWell = false;
    await vi.waitFor(() => expect([isReady, unhealthy]).toEqual([false, ['the liveness probe failed 2 times: the answer was 503']]));
    isWell = true;
    await vi.waitFor(() => expect(isReady).toBe(true));
    stop.abort();
  });
});
