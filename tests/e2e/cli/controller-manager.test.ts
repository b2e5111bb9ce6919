import { writeFileSync } from 'node:fs';
import { buildCapstan, Child, capstanProgram, type RunningCapstan, run, startCapstan, temporaryDirectory } from '@capstan/testbed';
import { describeWith, skipReason } from '@capstan/testbed/vitest';
import { afterAll, beforeAll, expect, test } from 'vitest';

await buildCapstan();
const noRequests = await skipReason(['openssl']);

const configMap = (name: string, metadata: Record<string, unknown> = {}) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace: 'shop', ...metadata },
});

await describeWith(['kubectl'], 'capstan controller-manager', ({ kubectl: kubectlPath }) => {
  let server: RunningCapstan;
  let manager: Child;

  const start = () =>
    new Child('controller-manager', [
      process.execPath,
      capstanProgram,
      'controller-manager',
      '--data-dir',
      server.dataDirectory,
      '--port',
      '0',
      '--no-leader-elect',
    ]);
  const kubectl = async (args: readonly string[], object?: unknown): Promise<string> => {
    const input = object === undefined ? {} : { input: JSON.stringify(object) };
    const { code, stdout, stderr } = await run(kubectlPath, ['--kubeconfig', server.kubeconfig, ...args], { timeout: 60_000, ...input });
    if (code !== 0) throw new Error(`kubectl ${args.join(' ')}: ${stderr}`);
    return stdout.trim();
  };
  const owned = async (name: string, owner: string): Promise<void> => {
    const uid = await kubectl(['-n', 'shop', 'get', 'configmap', owner, '-o', 'jsonpath={.metadata.uid}']);
    const ownerReferences = [{ apiVersion: 'v1', kind: 'ConfigMap', name: owner, uid, blockOwnerDeletion: true }];
    await kubectl(['create', '-f', '-'], configMap(name, { ownerReferences }));
  };
  const isThere = async (name: string): Promise<boolean> =>
    (await kubectl(['-n', 'shop', 'get', 'configmap', name, '--ignore-not-found', '-o', 'name'])) !== '';

  beforeAll(async () => {
    server = await startCapstan({ store: 'sqlite' });
    manager = start();
    await manager.waitUntil('running', () => manager.output.includes('controllers run against'));
    await kubectl(['create', 'namespace', 'shop']);
  });
  afterAll(async () => {
    await manager.stop();
    await server[Symbol.asyncDispose]();
  });

  test('serves health and metrics', async () => {
    const health = /health at (\S+)/.exec(manager.output)?.[1] ?? '';
    await expect.poll(async () => (await fetch(`${health}/readyz`)).status, { timeout: 30_000 }).toBe(200);
    expect(await (await fetch(`${health}/livez`)).text()).toBe('ok\n');
    expect(await (await fetch(`${health}/metrics`)).text()).toContain('workqueue_depth{name="namespace"}');
  });

  test('uses accounts with only the rights they need', async () => {
    const own = `${server.dataDirectory}/controller-manager.kubeconfig`;
    const can = async (...args: string[]): Promise<string> =>
      (await run(kubectlPath, ['--kubeconfig', own, 'auth', 'can-i', ...args], { timeout: 60_000 })).stdout.trim();
    const as = (account: string): string => `--as=system:serviceaccount:kube-system:${account}`;
    expect(await can('get', 'secrets', '-A')).toBe('no');
    expect(await can('create', 'clusterrolebindings')).toBe('no');
    expect(await can('*', '*')).toBe('no');
    expect(await can('deletecollection', 'secrets', '-n', 'shop', as('namespace-controller'))).toBe('yes');
    expect(await can('create', 'clusterrolebindings', as('namespace-controller'))).toBe('no');
    expect(await can('get', 'secrets', '-n', 'shop', as('namespace-defaults-controller'))).toBe('no');
    const stranger = await run(kubectlPath, ['--kubeconfig', own, 'get', 'secrets', '-A', '--as=kubernetes-admin'], { timeout: 60_000 });
    expect(stranger.stderr).toContain('cannot impersonate resource "users"');
  });

  test('creates the service account and root certificate of a namespace', async () => {
    await kubectl(['-n', 'shop', 'wait', '--for=create', 'serviceaccount/default', '--timeout=30s']);
    const authority = ['-n', 'shop', 'get', 'configmap', 'kube-root-ca.crt', '--ignore-not-found', '-o', 'jsonpath={.data}'];
    await expect.poll(() => kubectl(authority), { timeout: 30_000 }).toContain('BEGIN CERTIFICATE');
  });

  test.each(['background', 'foreground', 'orphan'])('kubectl delete --cascade=%s', async (cascade) => {
    await kubectl(['create', '-f', '-'], configMap(`owner-${cascade}`));
    await owned(`owned-${cascade}`, `owner-${cascade}`);
    await kubectl(['-n', 'shop', 'delete', 'configmap', `owner-${cascade}`, `--cascade=${cascade}`, '--timeout=30s']);
    if (cascade === 'orphan') {
      const owners = ['-n', 'shop', 'get', 'configmap', `owned-${cascade}`, '-o', 'jsonpath={.metadata.ownerReferences}'];
      expect(await kubectl(owners)).toBe('');
    } else await expect.poll(() => isThere(`owned-${cascade}`), { timeout: 30_000 }).toBe(false);
  });

  test.skipIf(noRequests !== undefined)(
    `kubectl certificate approve issues a certificate that kubectl can use${noRequests === undefined ? '' : ` [${noRequests}]`}`,
    async () => {
      const key = `${server.dataDirectory}/jane.key`;
      const subject = ['-subj', '/O=devs/CN=jane', '-keyout', key, '-nodes', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256'];
      const { stdout: request } = await run('openssl', ['req', '-new', ...subject], { timeout: 60_000 });
      await kubectl(['create', '-f', '-'], {
        apiVersion: 'certificates.k8s.io/v1',
        kind: 'CertificateSigningRequest',
        metadata: { name: 'jane' },
        spec: {
          request: Buffer.from(request).toString('base64'),
          signerName: 'kubernetes.io/kube-apiserver-client',
          usages: ['client auth'],
        },
      });
      await kubectl(['certificate', 'approve', 'jane']);
      await kubectl(['wait', '--for=jsonpath={.status.certificate}', 'csr/jane', '--timeout=30s']);
      const certificate = await kubectl(['get', 'csr', 'jane', '-o', 'jsonpath={.status.certificate}']);
      const file = `${server.dataDirectory}/jane.crt`;
      writeFileSync(file, Buffer.from(certificate, 'base64'));
      expect(await kubectl(['get', 'csr', 'jane', '--no-headers'])).toContain('Approved,Issued');
      const jane = ['--server', server.url, '--certificate-authority', `${server.dataDirectory}/pki/ca.crt`];
      const who = await run(
        kubectlPath,
        ['--kubeconfig', '/dev/null', ...jane, '--client-certificate', file, '--client-key', key, 'auth', 'whoami'],
        {
          timeout: 60_000,
        },
      );
      expect(who.stdout).toMatch(/Username\s+jane\nGroups\s+\[devs system:authenticated\]/);
    },
  );

  test('adds the rules of a role labelled for view to the view role', async () => {
    const label = { 'rbac.authorization.k8s.io/aggregate-to-view': 'true' };
    const rules = [{ apiGroups: [''], resources: ['secrets'], verbs: ['get'] }];
    const role = {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRole',
      metadata: { name: 'secret-viewer', labels: label },
      rules,
    };
    await kubectl(['create', '-f', '-'], role);
    await kubectl(['-n', 'shop', 'create', 'rolebinding', 'viewer', '--clusterrole=view', '--user=bob']);
    const may = async (): Promise<string> =>
      (
        await run(kubectlPath, ['--kubeconfig', server.kubeconfig, '-n', 'shop', 'auth', 'can-i', 'get', 'secrets', '--as=bob'])
      ).stdout.trim();
    await expect.poll(may, { timeout: 30_000 }).toBe('yes');
  });

  test('finishes the work of a killed instance', async () => {
    await kubectl(['create', '-f', '-'], configMap('keeper', { finalizers: ['example.com/wait'] }));
    await kubectl(['delete', 'namespace', 'shop', '--wait=false']);
    const remaining = '--for=condition=NamespaceContentRemaining=True';
    await kubectl(['wait', remaining, 'namespace/shop', '--timeout=30s']);
    await manager.kill();
    await kubectl(['-n', 'shop', 'patch', 'configmap', 'keeper', '--type=merge', '-p', '{"metadata":{"finalizers":null}}']);
    manager = start();
    await kubectl(['wait', '--for=delete', 'namespace/shop', '--timeout=30s']);
  });

  test('runs the controllers that its file names', async () => {
    const file = `${server.dataDirectory}/manager.yaml`;
    const config = [
      'controllerManager:',
      'kubeconfigFile: controller-manager.kubeconfig',
      'listen: { port: 0 }',
      'leaderElection: { name: capstan-controller-manager }',
    ];
    writeFileSync(file, `${[...config, 'controllers: [namespace, role-aggregation]'].join('\n  ')}\n`);
    await using named = new Child('named', [process.execPath, capstanProgram, 'controller-manager', '--config', file]);
    await named.waitUntil('leading', () => named.output.includes('leading'));
    const health = /health at (\S+)/.exec(named.output)?.[1] ?? '';
    const metrics = async (): Promise<string> => (await fetch(`${health}/metrics`)).text();
    await expect.poll(metrics, { timeout: 30_000 }).toContain('workqueue_depth{name="role-aggregation"}');
    expect(await metrics()).toContain('leader_election_master_status{name="capstan-controller-manager"} 1');
    expect(await metrics()).not.toContain('garbage-collector');
    writeFileSync(file, 'controllerManager:\n  controllers: [namespaces]\n');
    const { code, stderr } = await run(process.execPath, [capstanProgram, 'controller-manager', '--config', file], { timeout: 30_000 });
    expect([code, stderr]).toEqual([2, expect.stringContaining(`${file}:2:17: expected "*" for all, or one of namespace, `)]);
  });

  test('runs one of several instances, which hands over when it ends', async () => {
    const contend = () =>
      new Child('contender', [process.execPath, capstanProgram, 'controller-manager', '--data-dir', server.dataDirectory, '--port', '0']);
    await using first = contend();
    await first.waitUntil('leading', () => first.output.includes('leading'));
    await using second = contend();
    await second.waitUntil('running', () => second.output.includes('controllers run against'));
    expect(second.output).not.toContain('leading');
    first.signal('SIGTERM');
    expect(await first.exited).toEqual({ code: 0, signal: null });
    await second.waitUntil('leading', () => second.output.includes('leading'));
  });

  test('takes over from a killed leader when its lease expires', async () => {
    const file = `${server.dataDirectory}/short-lease.yaml`;
    const election = 'leaderElection: { leaseSeconds: 3, renewSeconds: 2, retrySeconds: 1 }';
    writeFileSync(file, `dataDirectory: .\ncontrollerManager:\n  listen: { port: 0 }\n  ${election}\n`);
    const contend = () => new Child('contender', [process.execPath, capstanProgram, 'controller-manager', '--config', file]);
    await using first = contend();
    await first.waitUntil('leading', () => first.output.includes('leading'));
    await using second = contend();
    await second.waitUntil('running', () => second.output.includes('controllers run against'));
    await first.kill();
    await second.waitUntil('leading', () => second.output.includes('leading'));
    await kubectl(['create', 'namespace', 'handed-over']);
    await kubectl(['-n', 'handed-over', 'wait', '--for=create', 'serviceaccount/default', '--timeout=30s']);
  });
});

test('says what to do without a kubeconfig', async () => {
  using directory = temporaryDirectory('controllers');
  const { code, stderr } = await run(process.execPath, [capstanProgram, 'controller-manager', '--data-dir', directory.path]);
  expect([code, stderr]).toEqual([2, expect.stringContaining('controller-manager.kubeconfig does not exist. Start the API server first')]);
});
