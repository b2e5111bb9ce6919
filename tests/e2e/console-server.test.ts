import { statSync } from 'node:fs';
import { unitContainer } from '@capstan/api';
import { type ChannelMessage, channel, dialCommand, UpgradeRefused } from '@capstan/streams';
import { buildCapstan, Child, capstanProgram, freePort, run, temporaryDirectory } from '@capstan/testbed';
import { describeUnless } from '@capstan/testbed/vitest';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

await buildCapstan();

const patience = { timeout: 60_000, interval: 200 };
const workspace = 'root:main:default';
const namespace = `/clusters/${workspace}/api/v1/namespaces/default`;

interface Answer {
  readonly status: number;
  readonly text: string;
}

describe('capstan console-server', () => {
  const stack = new AsyncDisposableStack();
  const directory = stack.use(temporaryDirectory('console'));
  const data = directory.join('data');
  const environment = { HOME: directory.path, KUBECONFIG: `${data}/admin.kubeconfig` };
  let up: Child;
  let url: string;
  let cookie = '';

  const capstan = (...args: string[]) =>
    run(process.execPath, [capstanProgram, ...args], { environment, directory: directory.path, timeout: 60_000 });
  const processOf = async (name: string): Promise<{ readonly pid: number; readonly health: string }> => {
    const { stdout } = await capstan('status', '--data-dir', data, '--output', 'json');
    return (JSON.parse(stdout) as { processes: { name: string; pid: number; health: string }[] }).processes.find(
      (one) => one.name === name,
    )!;
  };
  /** As a page of the console, unless the headers say otherwise. */
  const ask = async (
    path: string,
    { method = 'GET', body, headers = {} }: { method?: string; body?: object; headers?: object } = {},
  ): Promise<Answer> => {
    const own = { origin: url, 'x-capstan-console': '1', 'content-type': 'application/json', cookie };
    const response = await fetch(`${url}${path}`, { method, headers: { ...own, ...headers }, ...(body && { body: JSON.stringify(body) }) });
    const [set] = response.headers.getSetCookie();
    if (set !== undefined) cookie = set.split(';')[0]!;
    return { status: response.status, text: await response.text() };
  };
  const signIn = async (): Promise<Answer> => {
    const { stdout } = await capstan('console', '--no-browser');
    const link = new URL(stdout.trim());
    expect(link.origin + link.pathname).toBe(`${url}/sign-in`);
    return ask('/session', { method: 'POST', body: { code: link.hash.slice(1) } });
  };

  beforeAll(async () => {
    const port = await freePort();
    url = `http://127.0.0.1:${port + 2}`;
    up = new Child('capstan up', [process.execPath, capstanProgram, 'up', '--data-dir', data, '--port', String(port)], { environment });
    stack.defer(() => up.stop(15_000));
    await up.waitUntil('the console', () => up.output.includes('console | console at'));
    await up.waitUntil('the first project', async () => (await capstan('ws', 'use', workspace)).code === 0);
  });
  afterAll(() => stack.disposeAsync());

  test('is announced by capstan up, without a code in the log, and is healthy', async () => {
    await up.waitUntil('announced', () => up.output.includes(`The console is at ${url}. Get a link to sign in with: capstan console`));
    expect(up.output).not.toContain('/sign-in#');
    expect(await processOf('console')).toMatchObject({ health: 'ok' });
  });

  test('a one-time link signs in the administrator, who has only a certificate', async () => {
    expect((await ask('/session')).status).toBe(401);
    const { status, text } = await signIn();
    expect(status).toBe(201);
    expect(JSON.parse(text)).toMatchObject({ user: { name: 'kubernetes-admin' }, isPlatformOwner: true, home: workspace });
    expect(statSync(`${data}/console/sessions.key`).mode & 0o777).toBe(0o600);
  });

  test('requests of pages reach the API server and the REST API as that person', async () => {
    expect(JSON.parse((await ask(`/kube${namespace}/configmaps`)).text)).toMatchObject({ kind: 'ConfigMapList' });
    const made = await ask(`/kube${namespace}/configmaps`, { method: 'POST', body: { metadata: { name: 'of-the-console' } } });
    expect(made.status).toBe(201);
    await expect.poll(async () => (await ask(`/rest/clusters/${workspace}/api/v1/gpu-units`)).status, patience).toBe(200);
  });

  test('a stolen cookie is of no use to a page of another origin', async () => {
    const path = `/kube${namespace}/configmaps/of-the-console`;
    for (const headers of [{ origin: 'https://evil.example' }, { origin: 'http://127.0.0.1:1' }, { 'x-capstan-console': '' }])
      expect((await ask(path, { method: 'DELETE', headers })).status).toBe(403);
    expect((await ask(path, { headers: { 'sec-fetch-site': 'same-site' } })).status).toBe(403);
    const exec = dialCommand({
      url: `${url}/kube${namespace}/pods/any/exec?command=id&stdout=true`,
      headers: { cookie, origin: 'http://127.0.0.1:1' },
      tls: {},
    });
    await expect(exec).rejects.toSatisfy((error) => error instanceof UpgradeRefused && error.code === 403);
    expect((await ask(path)).status).toBe(200);
  });

  test('a tab is told of changes, and goes on after a restart of the API server', async () => {
    const messages: {
      key?: string;
      type: string;
      upstream?: string;
      items?: object[];
      changes?: { object: { metadata: { name: string } } }[];
    }[] = [];
    const socket = new WebSocket(`${url.replace('http', 'ws')}/live`, { headers: { cookie, origin: url } });
    socket.onmessage = ({ data: text }) => void messages.push(JSON.parse(String(text)));
    await new Promise((resolve) => (socket.onopen = resolve));
    const told = () => messages.flatMap(({ changes = [] }) => changes.map(({ object }) => object.metadata.name));
    try {
      socket.send(JSON.stringify({ add: 'maps', path: `${namespace}/configmaps` }));
      await expect.poll(() => messages.some(({ type }) => type === 'list'), patience).toBe(true);
      await ask(`/kube${namespace}/configmaps`, { method: 'POST', body: { metadata: { name: 'before' } } });
      await expect.poll(told, patience).toEqual(['before']);
      process.kill((await processOf('apiserver')).pid, 'SIGKILL');
      await expect.poll(() => messages.flatMap(({ upstream }) => upstream ?? []), patience).toEqual(['lost', 'restored']);
      await ask(`/kube${namespace}/configmaps`, { method: 'POST', body: { metadata: { name: 'after' } } });
      await expect.poll(told, patience).toContain('after');
    } finally {
      socket.close();
    }
  });

  test('the session survives when the process is killed', async () => {
    const { pid } = await processOf('console');
    process.kill(pid, 'SIGKILL');
    await expect
      .poll(
        async () =>
          ask('/session').then(
            ({ status }) => status,
            () => 0,
          ),
        patience,
      )
      .toBe(200);
    expect((await processOf('console')).pid).not.toBe(pid);
  });

  const needsRoot = process.getuid?.() === 0 ? undefined : 'units are isolated only by root';
  describeUnless(needsRoot, 'with a unit', () => {
    test('a terminal in the page runs a command in it', async () => {
      await expect.poll(async () => (await capstan('node', 'list')).stdout, patience).toMatch(/\sReady\s/);
      expect(await capstan('offering', 'create', 'small', '--cpu', '200m', '--memory', '128Mi')).toMatchObject({ code: 0 });
      await expect.poll(async () => (await capstan('offering', 'list')).stdout, patience).toContain('small');
      const started = await capstan('run', '--network', 'none', '--no-upload', '-d', '--name', 'shell', '--', 'sleep', '600');
      expect(started, started.stderr).toMatchObject({ code: 0 });
      expect(await capstan('wait', 'shell', '--for', 'running')).toMatchObject({ code: 0 });
      const query = new URLSearchParams({ container: unitContainer, stdin: 'true', stdout: 'true', stderr: 'true' });
      for (const word of ['sh', '-c', 'read line; echo "got $line"; exit 3']) query.append('command', word);
      const stream = await dialCommand({
        url: `${url}/kube${namespace}/pods/shell/exec?${query.toString()}`,
        headers: { cookie, origin: url },
        tls: {},
      });
      stream.write({ channel: channel.stdin, payload: Buffer.from('hello\n') } satisfies ChannelMessage);
      let output = '';
      let result = '';
      for await (const { channel: from, payload } of stream as AsyncIterable<ChannelMessage>) {
        if (from === channel.stdout) output += payload.toString();
        if (from === channel.error) result += payload.toString();
      }
      expect(output).toBe('got hello\n');
      expect(JSON.parse(result)).toMatchObject({ status: 'Failure', reason: 'NonZeroExitCode' });
    });
  });

  test('signing out ends the session', async () => {
    const before = cookie;
    expect((await ask('/session', { method: 'DELETE' })).status).toBe(200);
    expect((await ask(`/kube${namespace}/configmaps`, { headers: { cookie: before } })).status).toBe(401);
  });

  test('capstan up can do without it', async () => {
    const other = directory.join('other');
    await using bare = new Child('capstan up', [
      process.execPath,
      capstanProgram,
      'up',
      '--no-console',
      '--no-node',
      '--data-dir',
      other,
      '--port',
      String(await freePort()),
    ]);
    await bare.waitUntil('the REST API', () => bare.output.includes('| REST API at'));
    expect(bare.output).not.toContain('console at');
    expect(
      await run(process.execPath, [capstanProgram, 'console', '--kubeconfig', `${other}/admin.kubeconfig`], { timeout: 30_000 }),
    ).toMatchObject({
      code: 12,
      stderr: expect.stringContaining('no console runs beside this kubeconfig'),
    });
  });
});
