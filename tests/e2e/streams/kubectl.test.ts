import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { FakeKubelet } from '@capstan/streams/testing';
import { type RunningCapstan, run, startCapstan, TestAuthority, temporaryDirectory } from '@capstan/testbed';
import { describeWith } from '@capstan/testbed/vitest';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Kubectl } from '../support/kubectl.ts';

interface AuditEvent {
  readonly verb: string;
  readonly objectRef?: { readonly subresource?: string };
  readonly responseStatus?: { readonly code: number };
}

/** Both transports of kubectl. */
const transports = [
  ['WebSocket', {}],
  ['SPDY', { KUBECTL_REMOTE_COMMAND_WEBSOCKETS: 'false', KUBECTL_PORT_FORWARD_WEBSOCKETS: 'false' }],
] as const;

await describeWith(['kubectl', 'openssl'], 'streams with kubectl', (paths) => {
  const stack = new AsyncDisposableStack();
  const home = stack.use(temporaryDirectory('home'));
  let server: RunningCapstan;
  let kubelet: FakeKubelet;
  const kubectl = new Kubectl(paths.kubectl, () => ({ kubeconfig: server.kubeconfig, namespace: 'default', home }));

  beforeAll(async () => {
    server = stack.use(await startCapstan({ store: 'sqlite' }));
    const pki = (name: string): string => readFileSync(resolve(server.dataDirectory, 'pki', name), 'utf8');
    const identities = stack.use(temporaryDirectory('kubelet'));
    const authority = TestAuthority.of({ certificate: pki('ca.crt'), key: pki('ca.key') }, identities.path);
    const container = stack.use(temporaryDirectory('container'));
    const serving = await authority.issue('/CN=kubelet', ['127.0.0.1']);
    kubelet = stack.use(await FakeKubelet.start({ ...serving, authority: authority.certificate, directory: container.path }));
    await kubectl.create({ apiVersion: 'v1', kind: 'Node', metadata: { name: 'n1' } });
    const containers = [{ name: 'main', image: 'x', stdin: true, tty: true }];
    await kubectl.create({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'web' }, spec: { nodeName: 'n1', containers } });
    const status = (kind: string, name: string, value: object): Promise<string> =>
      kubectl.run('patch', kind, name, '--subresource=status', '--type=merge', '-p', JSON.stringify({ status: value }));
    await status('node', 'n1', {
      addresses: [{ type: 'InternalIP', address: '127.0.0.1' }],
      daemonEndpoints: { kubeletEndpoint: { Port: kubelet.port } },
    });
    await status('pod', 'web', { phase: 'Running' });
  });
  afterAll(() => stack.disposeAsync());

  test('logs, whole and followed', async () => {
    expect(await kubectl.run('logs', 'web')).toBe('first line\nsecond line');
    expect(await kubectl.run('logs', 'web', '--tail=1')).toBe('second line');
    const following = kubectl.start('logs', '-f', 'web');
    await following.waitUntil('follows', () => kubelet.followers === 1);
    kubelet.log('third line\n');
    await following.waitUntil('shows the third line', () => following.output.includes('third line'));
    kubelet.endLogs();
    expect((await following.exited).code).toBe(0);
  });

  describe.each(transports)('over %s', (transport, environment) => {
    const call = (args: readonly string[], input = '') => kubectl.call(args, { input, environment });

    test('exec passes input, both outputs and the exit code', async () => {
      const { code, stdout, stderr } = await call(['exec', '-i', 'web', '--', 'sh', '-c', 'cat; echo warning >&2; exit 7'], 'hello');
      expect([code, stdout]).toEqual([7, 'hello']);
      expect(stderr).toContain('warning\n');
      expect(kubelet.requests.at(-1)!.url).toMatch(/^\/exec\/default\/web\/main\?input=1&output=1&error=1&command=sh/);
    });

    test('exec without input', async () => {
      expect(await call(['exec', 'web', '--', 'echo', 'a b', '$HOME'])).toMatchObject({ code: 0, stdout: 'a b $HOME\n' });
    });

    test('exec of a missing program fails', async () => {
      const { code, stderr } = await call(['exec', 'web', '--', 'no-such-program']);
      expect([code, stderr]).toEqual([1, expect.stringContaining('ENOENT')]);
    });

    test('exec with a terminal passes its size', async () => {
      const line = `stty rows 33 cols 101; exec ${paths.kubectl} --kubeconfig ${server.kubeconfig} exec -it web -- shell`;
      // Input that comes before the terminal is raw would be lost.
      const input = `(while [ ! -e ${home.join(transport)} ]; do sleep 0.1; done; echo exit)`;
      const command = `${input} | script -qec '${line}' /dev/null | tee ${home.join(`${transport}.output`)}`;
      const running = run('bash', ['-c', command], { environment: { HOME: home.path, ...environment }, timeout: 60_000 });
      while (!(await shown(home.join(`${transport}.output`))).includes('size')) await sleep(50);
      writeFileSync(home.join(transport), '');
      const { stdout } = await running;
      expect(stdout).toContain('size {"Width":101,"Height":33}');
      expect(stdout).toMatch(/got "exit(\\r|\\n)"/);
    });

    test('attach', async () => {
      const { stdout } = await call(['attach', '-i', 'web'], 'exit\n');
      expect(stdout).toContain('welcome');
      expect(stdout).toContain('got "exit\\n"');
    });

    test('cp copies in both directions', async () => {
      const bytes = randomBytes(3_000_000);
      writeFileSync(home.join('sent'), bytes);
      expect(await call(['cp', home.join('sent'), 'web:copied'])).toMatchObject({ code: 0 });
      expect(await call(['cp', 'web:copied', home.join('returned')])).toMatchObject({ code: 0 });
      expect(readFileSync(home.join('returned')).equals(bytes)).toBe(true);
    });

    test('port-forward serves several connections, and reports a port that nobody listens on', async () => {
      const backend = createServer((request, response) => void response.end(`page ${request.url}`));
      await once(backend.listen(0, '127.0.0.1'), 'listening');
      const { port } = backend.address() as AddressInfo;
      const forwarding = kubectl.startWith({ environment }, 'port-forward', 'pod/web', `:${port}`, ':1');
      await forwarding.waitUntil('forwards', () => /Forwarding from 127.0.0.1:\d+ -> 1\n/.test(forwarding.output));
      const local = new Map([...forwarding.output.matchAll(/127.0.0.1:(\d+) -> (\d+)/g)].map(([, from, to]) => [to, from]));
      const pages = await Promise.all(
        ['a', 'b', 'c'].map(async (name) => (await fetch(`http://127.0.0.1:${local.get(String(port))}/${name}`)).text()),
      );
      expect(pages).toEqual(['page /a', 'page /b', 'page /c']);
      await expect(fetch(`http://127.0.0.1:${local.get('1')}/`)).rejects.toThrow();
      // kubectl may end after such an error.
      while (forwarding.running && !forwarding.output.includes('ECONNREFUSED')) await sleep(25);
      expect(forwarding.output).toContain('ECONNREFUSED');
      await forwarding.stop();
      backend.close();
    });
  });

  test('streams leave nothing behind', async () => {
    for (let left = 100; kubelet.upgraded > 0 || kubelet.followers > 0; left--) {
      if (left === 0) throw new Error(`the kubelet still has ${kubelet.upgraded} streams and ${kubelet.followers} followers`);
      await sleep(50);
    }
    expect(await kubectl.run('get', '--raw', '/metrics')).toMatch(/^capstan_streams 0$/m);
  });

  test('both transports were used: kubectl would have fallen back from one to the other in silence', async () => {
    const answers = (): string[] => {
      const lines = readFileSync(resolve(server.dataDirectory, 'audit.log'), 'utf8').trimEnd().split('\n');
      const ended = lines.map((line) => JSON.parse(line) as AuditEvent).filter((event) => event.responseStatus !== undefined);
      return ended.map(({ verb, objectRef, responseStatus }) => `${verb} ${objectRef?.subresource} ${responseStatus!.code}`);
    };
    // The last stream is recorded shortly after its client has left.
    for (const upgrade of ['attach', 'exec', 'portforward'].flatMap((name) => [`get ${name}`, `create ${name}`]))
      await expect.poll(() => [...new Set(answers().filter((one) => one.startsWith(`${upgrade} `)))]).toEqual([`${upgrade} 101`]);
  });

  test('get --raw reaches the kubelet through the proxy of its node', async () => {
    const seen = JSON.parse(await kubectl.run('get', '--raw', '/api/v1/nodes/n1/proxy/metrics?a=1')) as { url: string };
    expect(seen.url).toBe('/metrics?a=1');
  });

  test('a stopped server ends streams, and kubectl says so', async () => {
    const following = kubectl.start('logs', '-f', 'web');
    await following.waitUntil('follows', () => kubelet.followers === 1);
    await server.restart();
    expect((await following.exited).code).not.toBe(0);
    expect(kubelet.followers).toBe(0);
  });
});

async function shown(file: string): Promise<string> {
  await Promise.resolve();
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
