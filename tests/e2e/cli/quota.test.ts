import { Child, capstanProgram, type RunningCapstan, run, startCapstan } from '@capstan/testbed';
import { describeWith } from '@capstan/testbed/vitest';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

await describeWith(['kubectl'], 'quotas and tokens, with the controllers and their own accounts', ({ kubectl: kubectlPath }) => {
  let server: RunningCapstan;
  let manager: Child;

  beforeAll(async () => {
    server = await startCapstan({ store: 'sqlite' });
    const args = ['--data-dir', server.dataDirectory, '--port', '0', '--no-leader-elect'];
    manager = new Child('controller-manager', [process.execPath, capstanProgram, 'controller-manager', ...args]);
    await manager.waitUntil('running', () => manager.output.includes('controllers run against'));
    await kubectl('', ['create', '-f', '-'], { apiVersion: 'tenancy.kcp.io/v1alpha1', kind: 'Workspace', metadata: { name: 'team' } });
    await kubectl('', ['wait', 'workspace/team', '--for=jsonpath={.status.phase}=Ready', '--timeout=60s']);
  });
  afterAll(async () => {
    await manager.stop();
    await server[Symbol.asyncDispose]();
  });

  const call = (path: string, args: readonly string[], object?: unknown) =>
    run(kubectlPath, ['--kubeconfig', server.kubeconfig, '--server', server.url + path, ...args], {
      timeout: 90_000,
      ...(object !== undefined && { input: JSON.stringify(object) }),
    });
  const kubectl = async (path: string, args: readonly string[], object?: unknown): Promise<string> => {
    const { code, stdout, stderr } = await call(path, args, object);
    if (code !== 0) throw new Error(`kubectl ${args.join(' ')}: ${stderr}`);
    return stdout.trim();
  };

  const definition = {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'widgets.example.com' },
    spec: {
      group: 'example.com',
      scope: 'Namespaced',
      names: { plural: 'widgets', kind: 'Widget' },
      versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } }],
    },
  };
  const widget = (name: string) => ({ apiVersion: 'example.com/v1', kind: 'Widget', metadata: { name } });
  const pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'p' },
    spec: { containers: [{ name: 'c', image: 'example.com/app:1', resources: { requests: { cpu: '600m' } } }] },
  };

  describe.each([
    ['the root workspace', '', true],
    // Tenants have pods only if they bind them.
    ['another workspace', '/clusters/root:team', false],
  ])('in %s', (_, path, hasPods) => {
    const ofPods = (pods: string, cpu: string): object => (hasPods ? { pods, 'requests.cpu': cpu } : {});
    const used = async (): Promise<unknown> =>
      JSON.parse((await kubectl(path, ['get', 'quota', 'small', '-o', 'jsonpath={.status.used}'])) || 'null');
    const usedIs = (wanted: unknown) => expect.poll(used, { timeout: 30_000, interval: 100 }).toEqual(wanted);

    test('counts, enforces and releases quota, for custom kinds too', async () => {
      await kubectl(path, ['create', '-f', '-'], definition);
      await kubectl(path, ['wait', 'crd/widgets.example.com', '--for=condition=Established', '--timeout=60s']);
      await kubectl(path, [
        'create',
        'quota',
        'small',
        `--hard=secrets=1,count/widgets.example.com=1${hasPods ? ',pods=1,requests.cpu=1' : ''}`,
      ]);
      await usedIs({ secrets: '0', 'count/widgets.example.com': '0', ...ofPods('0', '0') });
      await kubectl(path, ['create', '-f', '-'], widget('one'));
      expect((await call(path, ['create', '-f', '-'], widget('two'))).stderr).toContain(
        'widgets.example.com "two" is forbidden: exceeded quota: small, requested: count/widgets.example.com=1, used: count/widgets.example.com=1, limited: count/widgets.example.com=1',
      );
      if (hasPods) await kubectl(path, ['create', '-f', '-'], pod);
      await usedIs({ secrets: '0', 'count/widgets.example.com': '1', ...ofPods('1', '600m') });
      await kubectl(path, ['delete', 'widget', 'one']);
      if (hasPods) await kubectl(path, ['delete', 'pod', 'p', '--force']);
      await usedIs({ secrets: '0', 'count/widgets.example.com': '0', ...ofPods('0', '0') });
    });

    test('fills in the token of a secret, and deletes the secret with its account', async () => {
      await kubectl(path, ['create', 'serviceaccount', 'robot']);
      const annotations = { 'kubernetes.io/service-account.name': 'robot' };
      const type = 'kubernetes.io/service-account-token';
      await kubectl(path, ['create', '-f', '-'], { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'robot', annotations }, type });
      await expect.poll(() => kubectl(path, ['get', 'secret', 'robot', '-o', 'jsonpath={.data.token}']), { timeout: 30_000 }).not.toBe('');
      await usedIs(expect.objectContaining({ secrets: '1' }));
      await kubectl(path, ['delete', 'serviceaccount', 'robot']);
      await kubectl(path, ['wait', 'secret/robot', '--for=delete', '--timeout=60s']);
      await usedIs(expect.objectContaining({ secrets: '0' }));
    });
  });

  test('never rejects a request of the controllers', () => {
    expect(manager.output.split('\n').filter((line) => /forbidden|not allow/i.test(line))).toEqual([]);
  });
});
