import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { startTestServer } from '@capstan/apiserver/testing';
import { connectionOf, fixedCredentials, loadKubeconfig } from '@capstan/client';
import { temporaryDirectory } from '@capstan/testbed';
import { describe, expect, test } from 'vitest';
import { holdDirectory } from '../holder.ts';
import type { Phase } from '../supervise/states.ts';
import { consoleAddress, runningAddress } from './address.ts';
import { browserProgram, openPrivately } from './browser.ts';
import { signInLink } from './link.ts';

describe('the address of the console', () => {
  const local = { server: 'https://127.0.0.1:6443' };
  const ready = (name: string, host: string): Phase => ({ phase: 'ready', pid: 1, startedAt: '', ports: [{ name, host, port: 6445 }] });
  const status = (current: Phase) => ({
    up: { pid: 1, since: '' },
    processes: [{ name: 'console', optional: true, restarts: 0, current }],
  });

  test.each([
    [ready('http', '127.0.0.1'), 'http://127.0.0.1:6445'],
    [ready('https', '0.0.0.0'), 'https://api.example.com:6445'],
    [ready('https', '::'), 'https://api.example.com:6445'],
    [ready('http', '::1'), 'http://[::1]:6445'],
    [{ phase: 'restarting', at: '' } as const, undefined],
  ])('of %j is %s', (current, expected) => {
    expect(runningAddress(status(current), 'https://api.example.com:6443/clusters/root')).toBe(expected);
  });

  test('is that of the "capstan up" beside the kubeconfig', () => {
    using directory = temporaryDirectory('console-address');
    using _held = holdDirectory(directory.path);
    writeFileSync(directory.join('up.status'), JSON.stringify(status(ready('http', '127.0.0.1'))));
    expect(consoleAddress({ kubeconfig: directory.join('admin.kubeconfig') }, local)).toBe('http://127.0.0.1:6445');
  });

  test('is never a guess on this machine, where anybody could listen', () => {
    using directory = temporaryDirectory('console-address');
    // Left behind by one that no longer runs.
    writeFileSync(directory.join('up.status'), JSON.stringify(status(ready('http', '127.0.0.1'))));
    expect(() => consoleAddress({ kubeconfig: directory.join('admin.kubeconfig') }, local)).toThrow('no console runs');
  });

  test('of other machines is two ports above the API server, over https', () => {
    const kubeconfig = '/nowhere/config';
    expect(consoleAddress({ kubeconfig }, { server: 'https://capstan.example.com:6443/clusters/root' })).toBe(
      'https://capstan.example.com:6445',
    );
  });

  test('can be given, but a token never crosses a network in plain text', () => {
    expect(consoleAddress({ url: 'https://console.example.com/' }, local)).toBe('https://console.example.com');
    expect(consoleAddress({ url: 'http://localhost:9000' }, local)).toBe('http://localhost:9000');
    expect(() => consoleAddress({ url: 'http://console.example.com' }, local)).toThrow('expected https');
    expect(() => consoleAddress({ url: 'console' }, local)).toThrow('expected the address of a console');
  });
});

describe('a link', () => {
  async function withConsole(
    answer: { code: number; body: object },
    use: (url: string, asked: IncomingMessage[]) => Promise<void>,
  ): Promise<void> {
    const asked: IncomingMessage[] = [];
    const server = createServer((request, response) => {
      asked.push(request);
      response.writeHead(answer.code).end(JSON.stringify(answer.body));
    });
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
    try {
      await use(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked);
    } finally {
      server.closeAllConnections();
      server.close();
    }
  }
  const connection = {
    server: 'https://127.0.0.1:1',
    namespace: 'default',
    credentials: fixedCredentials({ authorization: 'Bearer own' }),
  };

  test('is asked for with the token of the kubeconfig, and has its code where nobody logs it', async () => {
    await withConsole({ code: 201, body: { code: 'secret' } }, async (url, asked) => {
      expect(await signInLink(url, connection)).toBe(`${url}/sign-in#secret`);
      expect(asked[0]).toMatchObject({ method: 'POST', url: '/session/links' });
      expect(asked[0]!.headers.authorization).toBe('Bearer own');
    });
  });

  test('for the holder of a certificate is asked for with a token for the same user', async () => {
    await using api = await startTestServer();
    await withConsole({ code: 201, body: { code: 'secret' } }, async (url, asked) => {
      await signInLink(url, connectionOf(loadKubeconfig({ path: api.kubeconfigPath })));
      expect(asked[0]!.headers.authorization).toMatch(/^Bearer capstan-session\./);
    });
  });

  test('that the console refuses says why', async () => {
    await withConsole({ code: 401, body: { message: 'no such token' } }, async (url) => {
      await expect(signInLink(url, connection)).rejects.toThrow('answered 401: no such token');
    });
    await expect(signInLink('http://127.0.0.1:1', connection)).rejects.toThrow('cannot be reached');
    await expect(signInLink('http://127.0.0.1:1', { ...connection, impersonate: { user: 'jane' } })).rejects.toThrow('impersonates');
    await expect(signInLink('http://127.0.0.1:1', { ...connection, credentials: fixedCredentials({}) })).rejects.toThrow('neither a token');
  });
});

describe('a browser', () => {
  test.each([
    ['darwin', {}, 'open'],
    ['linux', { DISPLAY: ':0' }, 'xdg-open'],
    ['linux', { WAYLAND_DISPLAY: 'w' }, 'xdg-open'],
    ['linux', { DISPLAY: '' }, undefined],
  ] as const)('on %s with %j is opened by %s', (platform, environment, expected) => {
    expect(browserProgram(platform, environment)).toBe(expected);
  });

  test('gets the link from a private file, and the arguments that everybody can see have no code', async () => {
    const directory = mkdtempSync('/tmp/capstan-browser-');
    try {
      const program = join(directory, 'browser');
      const script = `#!/bin/sh\necho "$1" > ${directory}/arguments\ncp "\${1#file://}" ${directory}/page\nstat -c %a "$(dirname "\${1#file://}")" > ${directory}/mode\n`;
      writeFileSync(program, script, { mode: 0o755 });
      expect(await openPrivately('http://127.0.0.1:1/sign-in#secret&"', program, 1)).toBe(true);
      expect(readFileSync(join(directory, 'arguments'), 'utf8')).not.toContain('secret');
      expect(readFileSync(join(directory, 'page'), 'utf8')).toContain('url=http://127.0.0.1:1/sign-in#secret&amp;&quot;"');
      expect(readFileSync(join(directory, 'mode'), 'utf8')).toBe('700\n');
      expect(await openPrivately('http://x', join(directory, 'none'), 1)).toBe(false);
    } finally {
      rmSync(directory, { recursive: true });
    }
  });
});
