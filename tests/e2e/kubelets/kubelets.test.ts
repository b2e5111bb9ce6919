import { type KubeletCluster, kubeletProblem, run, startKubeletCluster, temporaryDirectory, tool } from '@capstan/testbed';
import { describeUnless } from '@capstan/testbed/vitest';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { expectedStreams, streamChecks } from '../support/stream-probe.ts';
import { resized, saySizes } from '../support/terminal.ts';

/** Ends at once when it should, unlike a plain sleep as the first process. */
const obedient = "trap 'exit 0' TERM; sleep 3600 & wait";
const serving = "mkdir /www; echo page > /www/index.html; echo hello; trap 'exit 0' TERM; httpd -f -p 8080 -h /www & wait";
const patience = { timeout: 60_000, interval: 200 };

const probe = await tool('clientgo-probe');

describeUnless(await kubeletProblem(), 'real kubelets', () => {
  let cluster: KubeletCluster;
  beforeAll(async () => {
    cluster = await startKubeletCluster({ nodes: 2, images: 'path' in probe ? [probeImage(probe.path)] : [] });
  }, 120_000);
  afterAll(() => cluster?.[Symbol.asyncDispose](), 60_000);

  const apply = async (...objects: object[]): Promise<string> => cluster.kubectl('apply', '-f', writeList(cluster, objects));
  const node = (name: string, ...args: string[]) =>
    cluster.tryKubectl('--as', `system:node:${name}`, '--as-group', 'system:nodes', ...args);

  test('join with a bootstrap token, and have no rights but those of nodes', async () => {
    const names = await cluster.kubectl('get', 'nodes', '-o', 'jsonpath={.items[*].metadata.name}');
    expect(names).toBe('node-1 node-2');
    const bindings = await cluster.kubectl('get', 'clusterrolebindings', '-o', 'json');
    const granting = (JSON.parse(bindings).items as { metadata: { name: string }; subjects?: { name: string }[] }[])
      .filter(({ subjects = [] }) => subjects.some(({ name }) => name === 'system:nodes' || name.startsWith('system:node:')))
      .map(({ metadata }) => metadata.name);
    expect(granting).toEqual(['capstan:kubelet-renewal']);
    const requesters = await cluster.kubectl(
      'get',
      'csr',
      '-o',
      'jsonpath={.items[?(@.spec.signerName=="kubernetes.io/kube-apiserver-client-kubelet")].spec.username}',
    );
    expect(requesters).toMatch(/^system:bootstrap:\w{6} system:bootstrap:\w{6}$/);
  });

  test('run the pods of a Deployment, on all nodes', async () => {
    await cluster.kubectl('create', 'deployment', 'web', '--image=capstan.test/busybox:1', '--replicas=6', '--', 'sh', '-c', obedient);
    await cluster.kubectl('rollout', 'status', 'deployment/web', '--timeout=60s');
    const nodes = await cluster.kubectl('get', 'pods', '-l', 'app=web', '-o', 'jsonpath={.items[*].spec.nodeName}');
    expect(new Set(nodes.split(' '))).toEqual(new Set(['node-1', 'node-2']));
  });

  test('mount secrets, configuration and tokens of their pods, and cannot read those of others', async () => {
    await apply(
      { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'mine' }, stringData: { key: 'value' } },
      { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'other' }, stringData: { key: 'value' } },
      { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'settings' }, data: { key: 'setting' } },
      {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { name: 'reader' },
        spec: {
          nodeName: 'node-1',
          restartPolicy: 'Never',
          containers: [
            {
              name: 'c',
              image: 'capstan.test/busybox:1',
              command: [
                'sh',
                '-c',
                'test "$(cat /secret/key)$(cat /config/key)" = valuesetting && test -s /var/run/secrets/kubernetes.io/serviceaccount/token',
              ],
              volumeMounts: [
                { name: 's', mountPath: '/secret' },
                { name: 'c', mountPath: '/config' },
              ],
            },
          ],
          volumes: [
            { name: 's', secret: { secretName: 'mine' } },
            { name: 'c', configMap: { name: 'settings' } },
          ],
        },
      },
    );
    await vi.waitFor(async () => {
      expect(await cluster.kubectl('get', 'pod', 'reader', '-o', 'jsonpath={.status.phase}')).toBe('Succeeded');
    }, patience);
    expect((await node('node-1', 'get', 'secret', 'mine')).code).toBe(0);
    expect((await node('node-2', 'get', 'secret', 'mine')).stderr).toContain("no relationship found between node 'node-2' and this object");
    expect((await node('node-1', 'get', 'secret', 'other')).stderr).toContain('forbidden');
  });

  test('serve logs, commands, files and ports of their pods', async () => {
    await cluster.kubectl('run', 'shell', '--image=capstan.test/busybox:1', '--', 'sh', '-c', serving);
    await cluster.kubectl('wait', 'pod/shell', '--for=condition=Ready', '--timeout=60s');
    expect(await cluster.kubectl('logs', 'shell')).toBe('hello\n');
    expect(await cluster.kubectl('exec', 'shell', '--', 'cat', '/www/index.html')).toBe('page\n');
    expect(await cluster.tryKubectl('exec', 'shell', '--', 'sh', '-c', 'echo trouble >&2; exit 3')).toMatchObject({
      code: 3,
      stderr: expect.stringContaining('trouble'),
    });
    const sent = cluster.file('sent', 'copied\n');
    await cluster.kubectl('cp', sent, 'shell:/www/copied');
    expect(await cluster.kubectl('exec', 'shell', '--', 'cat', '/www/copied')).toBe('copied\n');
    await using forward = cluster.startKubectl('port-forward', 'pod/shell', '18080:8080');
    await forward.waitUntil('it listens', () => forward.output.includes('Forwarding from 127.0.0.1:18080'));
    expect(await cluster.run('wget', '-q', '-O', '-', 'http://127.0.0.1:18080/copied')).toBe('copied\n');
    expect(await cluster.kubectl('get', '--raw', '/api/v1/nodes/node-1/proxy/healthz')).toBe('ok');
  });

  test('serve logs that are followed, terminals whose size changes, and programs that are attached to', async () => {
    await using following = cluster.startKubectl('logs', '-f', 'shell');
    await following.waitUntil('it shows the first line', () => following.output === 'hello\n');
    await cluster.kubectl('exec', 'shell', '--', 'sh', '-c', 'echo more > /proc/1/fd/1');
    await following.waitUntil('it shows the next line', () => following.output === 'hello\nmore\n');
    using directory = temporaryDirectory('terminal');
    const terminal = await resized(cluster.kubectlCommand('exec', '-it', 'shell', '--', 'sh', '-c', saySizes), { directory });
    expect([terminal.code, terminal.stdout]).toEqual([5, expect.stringMatching(/it is 33 101\r\n.*it is 44 120\r\n/s)]);
    const [program, ...rest] = cluster.kubectlCommand(
      'run',
      'attached',
      '-i',
      '--quiet',
      '--restart=Never',
      '--image=capstan.test/busybox:1',
      '--',
      'cat',
    );
    expect(await run(program, rest, { input: 'said\n' })).toMatchObject({ code: 0, stdout: 'said\n' });
  }, 120_000);

  test.skipIf('missing' in probe)(
    'serve the streams of client-go',
    async () => {
      const container = { name: 'main', image: 'capstan.test/probe:1', command: ['/bin/probe', '-serve', '9000'], stdin: true };
      await apply({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'echo' }, spec: { containers: [container] } });
      await cluster.kubectl('wait', 'pod/echo', '--for=condition=Ready', '--timeout=60s');
      const command = cluster.command('path' in probe ? probe.path : '');
      expect(await streamChecks(command, ['-kubeconfig', cluster.kubeconfig, '-stream', 'echo'])).toEqual(expectedStreams());
    },
    120_000,
  );

  test('restart a container that ends, and stop the pods of a deleted Deployment', async () => {
    await cluster.kubectl('run', 'flaky', '--image=capstan.test/busybox:1', '--restart=Always', '--', 'sh', '-c', 'sleep 1; exit 1');
    await vi.waitFor(async () => {
      const restarts = await cluster.kubectl('get', 'pod', 'flaky', '-o', 'jsonpath={.status.containerStatuses[0].restartCount}');
      expect(Number(restarts)).toBeGreaterThan(0);
    }, patience);
    await cluster.kubectl('delete', 'pod/flaky', 'deployment/web', '--grace-period=1', '--timeout=60s');
    await vi.waitFor(async () => {
      expect(await cluster.kubectl('get', 'pods', '-l', 'app=web', '-o', 'name')).toBe('');
    }, patience);
  });
});

const probeImage = (path: string) => ({ names: ['capstan.test/probe:1'], programs: { 'bin/probe': path } });

function writeList(cluster: KubeletCluster, items: readonly object[]): string {
  return cluster.file('objects.json', JSON.stringify({ apiVersion: 'v1', kind: 'List', items }));
}
