import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { IncomingHttpHeaders } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Duplex, PassThrough, Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import type { TLSSocket } from 'node:tls';
import type { AppAccessFile } from '@capstan/api';
import { ensurePki, type Pki } from '@capstan/pki';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { routeRequests } from '../requests/router.ts';
import { accountNameOf, parseAccount } from './account.ts';
import { AppAccess } from './serving.ts';
import { startShell } from './shell.ts';

const directory = mkdtempSync(join(tmpdir(), 'capstan-app-access-'));
const instance = '0b1e7f2e-0000-4000-8000-000000000001';
const access = new AppAccess({ directory, log: () => {} });
let pki: Pki;
let cluster: Server;
let asked: { method: string; url: string; headers: IncomingHttpHeaders; certificate: string; body: string }[] = [];

beforeAll(async () => {
  pki = await ensurePki(join(directory, 'pki'));
  mkdirSync(join(directory, instance));
  const { certificate: cert, key } = pki.serving;
  cluster = createServer(
    { cert, key, ca: pki.authority.certificate, requestCert: true, rejectUnauthorized: true },
    async (request, response) => {
      const { method = '', url = '', headers } = request;
      const certificate = (request.socket as TLSSocket).getPeerCertificate().subject.CN as string;
      asked.push({ method, url, headers, certificate, body: await text(request) });
      response
        .writeHead(url.startsWith('/missing') ? 404 : 200, { 'content-type': 'application/json', 'x-answer': 'yes' })
        .end('{"kind":"Answer"}');
    },
  );
  cluster.on('upgrade', (request, socket) => {
    asked.push({ method: request.method ?? '', url: request.url ?? '', headers: request.headers, certificate: '', body: '' });
    socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\nX-Stream-Protocol-Version: v5\r\n\r\n');
    socket.pipe(socket);
  });
  await new Promise<void>((resolve) => cluster.listen(0, '127.0.0.1', resolve));
});
afterEach(() => (asked = []));
afterAll(() => {
  access[Symbol.dispose]();
  cluster.closeAllConnections();
  cluster.close();
  rmSync(directory, { recursive: true });
});

function give(file: AppAccessFile | string, name = instance): void {
  writeFileSync(join(directory, name, 'access.json'), typeof file === 'string' ? file : JSON.stringify(file));
}

function files(): AppAccessFile {
  const write = (name: string, content: string): string => {
    writeFileSync(join(directory, name), content);
    return join(directory, name);
  };
  return {
    port: (cluster.address() as AddressInfo).port,
    authorityFile: write('ca.crt', pki.authority.certificate),
    certificateFile: write('client.crt', pki.kubeletClient!.certificate),
    keyFile: write('client.key', pki.kubeletClient!.key),
  };
}

interface Reply {
  readonly code: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly stream: Duplex;
}

/** A request as it arrives through a tunnel. */
async function ask(path: string, { method = 'GET', headers = {}, body = '', user = 'alice' } = {}): Promise<Reply> {
  const replied = Promise.withResolvers<Reply>();
  const request = {
    method,
    path: `/node${path}`,
    headers: { 'capstan-user': encodeURIComponent(user), ...headers },
    body: Readable.from([Buffer.from(body)]),
    signal: new AbortController().signal,
    respond: (code: number, returned: Readonly<Record<string, string>> = {}) => {
      const [input, output] = [new PassThrough(), new PassThrough()];
      replied.resolve({ code, headers: returned, stream: Duplex.from({ readable: output, writable: input }) });
      return Duplex.from({ readable: input, writable: output });
    },
  };
  const handle = routeRequests({
    node: async (routed) => {
      const served = access.serve(routed);
      expect(served).not.toBe(false);
      await served;
    },
  });
  await handle(request);
  return replied.promise;
}
const bodyOf = async ({ stream }: Reply): Promise<string> => text(stream);

describe('the Kubernetes API of an instance', () => {
  test('gets requests in the name of the user, with the certificate of the node', async () => {
    give(files());
    const reply = await ask(`/apps/${instance}/proxy/api/v1/pods?limit=5&watch=true`, {
      headers: {
        'capstan-groups': 'capstan%3Aviewers',
        authorization: 'Bearer secret',
        'impersonate-user': 'system:admin',
        'impersonate-group': 'system:masters',
        impersonate_uid: '1',
        'impersonate-extra-x': 'y',
        'x-remote-user': 'root',
        accept: 'application/json',
      },
    });
    expect([reply.code, reply.headers['x-answer'], await bodyOf(reply)]).toEqual([200, 'yes', '{"kind":"Answer"}']);
    const [{ url, headers, certificate }] = asked as [(typeof asked)[number]];
    expect([url, certificate]).toEqual(['/api/v1/pods?limit=5&watch=true', expect.any(String)]);
    expect(headers).toMatchObject({ 'impersonate-user': 'alice', 'impersonate-group': 'capstan:viewers', accept: 'application/json' });
    for (const name of ['authorization', 'impersonate_uid', 'impersonate-extra-x', 'x-remote-user', 'capstan-user', 'capstan-groups'])
      expect(headers[name]).toBeUndefined();
  });

  test('gets bodies, and its errors are passed on', async () => {
    give(files());
    const reply = await ask(`/apps/${instance}/proxy/missing`, {
      method: 'POST',
      body: '{"a":1}',
      headers: { 'content-type': 'application/json' },
    });
    expect(reply.code).toBe(404);
    expect(asked[0]).toMatchObject({ method: 'POST', body: '{"a":1}' });
  });

  test.each([
    ['system:serviceaccount:kube-system:default', 'capstan:system:serviceaccount:kube-system:default'],
    ['Zoë', Buffer.from('Zoë', 'utf8').toString('latin1')],
  ])('knows %s by another name than its own accounts', async (user, expected) => {
    give(files());
    await bodyOf(await ask(`/apps/${instance}/proxy/api`, { user }));
    expect(asked[0]!.headers['impersonate-user']).toBe(expected);
  });

  test('never gets a request without a user', async () => {
    give(files());
    expect((await ask(`/apps/${instance}/proxy/api`, { user: '' })).code).toBe(400);
    expect((await ask(`/apps/${instance}/proxy/api`, { user: 'a\r\nImpersonate-Group: system:masters' })).code).toBe(503);
    expect(asked).toEqual([]);
  });

  test('changes protocols with the method of the client', async () => {
    give(files());
    const headers = { 'capstan-upgrade': 'SPDY/3.1', 'capstan-method': 'POST', 'x-stream-protocol-version': 'v5' };
    const {
      code,
      headers: returned,
      stream,
    } = await ask(`/apps/${instance}/proxy/api/v1/namespaces/a/pods/b/exec?command=id`, { method: 'POST', headers });
    expect([code, returned]).toMatchObject([200, { 'capstan-upgraded': 'true', 'x-stream-protocol-version': 'v5' }]);
    expect(asked[0]).toMatchObject({ method: 'POST', headers: { upgrade: 'SPDY/3.1', 'impersonate-user': 'alice' } });
    stream.write('ping');
    expect(String((await stream[Symbol.asyncIterator]().next()).value)).toBe('ping');
    stream.destroy();
  });

  test('is found by the server that asks', async () => {
    give(files());
    expect((await ask(`/apps/${instance}/access`)).code).toBe(204);
    give({ shell: true });
    expect((await ask(`/apps/${instance}/access`)).code).toBe(404);
    expect((await ask('/apps/another/access')).code).toBe(404);
    expect((await ask('/apps/..%2Fpki/access')).code).toBe(404);
  });

  test.each([
    ['is no JSON', '{'],
    ['has a port that is none', { port: 0 }],
    ['names files that do not exist', { port: 1, authorityFile: '/x', certificateFile: '/x', keyFile: '/x' }],
  ])('is refused with the reason if its file %s', async (_, file) => {
    give(file as AppAccessFile);
    expect((await ask(`/apps/${instance}/proxy/`)).code).toBe(503);
  });

  test('is not trusted with another certificate than its authority has signed', async () => {
    const other = await ensurePki(join(directory, 'other-pki'));
    writeFileSync(join(directory, 'other.crt'), other.authority.certificate);
    give({ ...files(), authorityFile: join(directory, 'other.crt') });
    expect((await ask(`/apps/${instance}/proxy/api`)).code).toBe(502);
    expect(asked).toEqual([]);
  });
});

describe('the account of a user', () => {
  test('has the same name, or the one that the adapter has given it', () => {
    expect(accountNameOf('alice', {})).toBe('alice');
    expect(accountNameOf('alice@example.com', { accounts: { 'alice@example.com': 'alice' } })).toBe('alice');
    for (const user of ['alice@example.com', 'system:admin', 'Alice', '-alice', '', 'a b', 'constructor$', '__proto__@'])
      expect(accountNameOf(user, {})).toBeUndefined();
    expect(accountNameOf('x', { accounts: { x: '-root' } })).toBeUndefined();
  });

  test('is never one of the system', () => {
    expect(parseAccount('alice:x:1000:1001:Alice:/home/alice:/bin/bash\n', 'alice')).toEqual({ name: 'alice', uid: 1000, gid: 1001 });
    for (const line of [
      'root:x:0:0::/root:/bin/bash',
      'alice:x:999:1000::/:/bin/sh',
      'nobody:x:65534:65534::/:/bin/sh',
      'bob:x:1000:1000::/:/bin/sh',
      '',
    ])
      expect(parseAccount(line, line.split(':')[0] === 'bob' ? 'alice' : line.split(':')[0]!)).toBeUndefined();
  });
});

describe('a shell', () => {
  const shell = (user: string) => ask(`/apps/${instance}/shell?command=id&stdout=true`, { method: 'POST', user });

  test('is refused where there are none, and for users without an account', async () => {
    give(files());
    expect((await shell('alice')).code).toBe(403);
    give({ shell: true });
    for (const user of ['root', 'daemon', 'nobody', 'nosuchaccount', 'alice@example.com']) expect((await shell(user)).code).toBe(403);
    expect((await ask(`/apps/${instance}/shell`)).code).toBe(405);
  });

  test('is refused to root, whatever the file says', async () => {
    give({ shell: true, accounts: { alice: 'root', bob: 'daemon' } });
    for (const user of ['alice', 'bob']) expect((await shell(user)).code).toBe(403);
  });
});

/** An account of the system is good enough here: who may act as whom is tested above. */
describe.skipIf(process.getuid?.() !== 0)('a command in a shell', () => {
  const [uid, gid] = ['-u', '-g'].map((flag) => Number(execFileSync('id', [flag, 'www-data'], { encoding: 'utf8' })));
  const account = { name: 'www-data', uid: uid!, gid: gid! };
  /** Its login shell is that of nobody. */
  const run = (command: readonly string[], tty: boolean) => startShell(account, { command, tty, login: ['-s', '/bin/sh'] });

  test('runs as the account, with its arguments as they are', async () => {
    const { stdout, exited, stdin } = run(['printf', '%s\n', "it's", '$HOME;id'], false);
    stdin?.end();
    expect(await text(stdout)).toBe("it's\n$HOME;id\n");
    expect(await exited).toBe(0);
    const whoami = run(['id', '-un'], false);
    whoami.stdin?.end();
    expect((await text(whoami.stdout)).trim()).toBe('www-data');
  });

  test('has a terminal of its own that can be resized, and its exit code', async () => {
    const shell = run(['sh', '-c', 'tty; stat -c %U $(tty); read line; stty size; exit 7'], true);
    let seen = '';
    shell.stdout.on('data', (bytes: Buffer) => (seen += bytes.toString()));
    await vi.waitFor(() => expect(seen).toContain('www-data'), { timeout: 10_000 });
    expect(seen).toMatch(/\/dev\/pts\/\d+/);
    shell.resize?.({ columns: 132, rows: 43 });
    shell.stdin?.write('go\n');
    expect(await shell.exited).toBe(7);
    await vi.waitFor(() => expect(seen).toContain('43 132'));
  });

  test('ends when it is closed', async () => {
    const shell = run(['sleep', '600'], true);
    await new Promise((resolve) => setTimeout(resolve, 100));
    shell.close();
    await shell.exited;
  });
});
