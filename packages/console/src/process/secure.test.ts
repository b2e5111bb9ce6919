import { mkdtempSync, rmSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { scriptedServer } from '@capstan/client/testing';
import { ensurePki, type Pki } from '@capstan/pki';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Console, startConsole } from './console.ts';

let directory: string;
let pki: Pki;
let running: Console;
let api: Awaited<ReturnType<typeof scriptedServer>>;

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'capstan-console-tls-'));
  pki = await ensurePki(join(directory, 'pki'), { hosts: ['console.example.com'] });
  api = await scriptedServer((_request, response) => response.end(JSON.stringify({ status: { userInfo: { username: 'jane' } } })));
  running = await startConsole({
    connection: api.connection,
    rest: api.connection,
    host: '127.0.0.1',
    port: 0,
    healthAt: { host: '127.0.0.1', port: 0 },
    pagesDirectory: directory,
    dataDirectory: directory,
    tls: pki.console!,
    log: () => {},
  });
});
afterAll(async () => {
  await running[Symbol.asyncDispose]();
  await api[Symbol.asyncDispose]();
  rmSync(directory, { recursive: true });
});

function ask(host: string, headers: Record<string, string> = {}): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const options = {
      method: 'POST',
      host: '127.0.0.1',
      port: running.port,
      path: '/session',
      ca: pki.authority.certificate,
      agent: false,
    };
    // The name is what this test is about; the authority is checked all the same.
    const outgoing = request(
      { ...options, checkServerIdentity: () => undefined, headers: { host, 'x-capstan-console': '1', ...headers } },
      resolve,
    );
    outgoing.on('error', reject);
    outgoing.end('{"token":"t"}');
  });
}

test('over https, with a certificate of the platform, no other host or scheme gets the cookie', async () => {
  const answer = await ask('console.example.com', { origin: 'https://console.example.com' });
  expect(answer.statusCode).toBe(201);
  expect(answer.headers['set-cookie']).toEqual([expect.stringMatching(/^__Host-capstan-console=.*; Secure$/)]);
  expect((await ask('console.example.com', { origin: 'http://console.example.com' })).statusCode).toBe(403);
});

test('names that are not in the certificate are refused', async () => {
  expect((await ask('evil.example', { origin: 'https://evil.example' })).statusCode).toBe(421);
});

test('a renewed certificate is used for new connections', async () => {
  const { serving } = pki;
  running.replaceCertificate(serving);
  const answer = await ask('console.example.com', { origin: 'https://console.example.com' });
  expect((answer.socket as import('node:tls').TLSSocket).getPeerCertificate().subject.CN).toBe('kube-apiserver');
});
