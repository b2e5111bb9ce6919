import { resolve } from 'node:path';
import { type CommandResult, run } from '@capstan/testbed';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Kubectl } from '../support/kubectl.ts';
import type { ConfigMap } from '../support/objects.ts';
import { describeServers } from '../support/target.ts';

const chart = resolve(import.meta.dirname, 'chart');

interface Release {
  readonly name: string;
  readonly revision: string | number;
  readonly status: string;
}

await describeServers('Helm', ['helm', 'kubectl'], (target, paths) => {
  const kubectl = new Kubectl(paths.kubectl, target);

  const call = (args: readonly string[]): Promise<CommandResult> =>
    run(paths.helm, ['--kubeconfig', target().kubeconfig, '--namespace', target().namespace, ...args], {
      environment: { HOME: target().home.path },
    });
  const helm = async (...args: string[]): Promise<string> => {
    const result = await call(args);
    if (result.code !== 0) throw new Error(`helm ${args.join(' ')} exited with ${result.code}: ${result.stderr}`);
    return result.stdout.trimEnd();
  };
  const list = async (...args: string[]): Promise<Release[]> => JSON.parse(await helm('list', '-o', 'json', ...args)) as Release[];
  const config = async (): Promise<Record<string, string> | undefined> => (await kubectl.json<ConfigMap>('get', 'cm', 'demo-config')).data;

  beforeAll(() => kubectl.makeNamespace());
  afterAll(() => kubectl.dropNamespace());

  test('installs, upgrades, rolls back and uninstalls a release', async () => {
    await helm('install', 'demo', chart, '--set', 'greeting=first');
    expect(await list()).toMatchObject([{ name: 'demo', revision: '1', status: 'deployed' }]);
    expect(await config()).toEqual({ greeting: 'first', revision: '1', passwordWasThere: 'false', deployments: 'served' });
    const password = await kubectl.run('get', 'secret', 'demo-password', '-o', 'jsonpath={.data.password}');

    await helm('upgrade', 'demo', chart, '--set', 'greeting=second', '--set', 'replicas=3');
    expect(await config()).toMatchObject({ greeting: 'second', revision: '2', passwordWasThere: 'true' });
    expect(await kubectl.run('get', 'secret', 'demo-password', '-o', 'jsonpath={.data.password}')).toBe(password);
    expect(await kubectl.run('get', 'deployment', 'demo', '-o', 'jsonpath={.spec.replicas}')).toBe('3');
    expect(await kubectl.run('get', 'cm', 'demo-hook', '-o', 'jsonpath={.data.ran}')).toBe('2');

    await helm('rollback', 'demo', '1');
    expect(await config()).toMatchObject({ greeting: 'first' });
    expect(await kubectl.run('get', 'deployment', 'demo', '-o', 'jsonpath={.spec.replicas}')).toBe('1');
    const history = JSON.parse(await helm('history', 'demo', '-o', 'json')) as Release[];
    expect(history.map(({ revision, status }) => `${revision} ${status}`)).toEqual(['1 superseded', '2 superseded', '3 deployed']);

    expect(await helm('get', 'values', 'demo', '-o', 'json')).toBe('{"greeting":"first"}');
    await helm('uninstall', 'demo');
    expect(await list('--all')).toEqual([]);
    expect(
      await kubectl.run(
        'get',
        'deployment,service,secret,configmap',
        '-l',
        '!none',
        '-o',
        'name',
        '--field-selector',
        'metadata.name=demo',
      ),
    ).toBe('');
  });

  test('reverts a manual change with the next upgrade', async () => {
    await helm('install', 'drift', chart);
    await kubectl.run('patch', 'cm', 'drift-config', '--type=merge', '-p', '{"data":{"greeting":"by hand"}}');
    await helm('upgrade', 'drift', chart);
    expect(await kubectl.run('get', 'cm', 'drift-config', '-o', 'jsonpath={.data.greeting}')).toBe('hello');
    await helm('uninstall', 'drift');
  });

  test('does not take over foreign objects', async () => {
    await kubectl.run('create', 'cm', 'taken-config');
    const refused = await call(['install', 'taken', chart]);
    expect(refused.code).not.toBe(0);
    expect(refused.stderr).toContain('exists and cannot be imported into the current release');
  });

  test('lets a template look up objects, and fails the install when the server rejects one', async () => {
    expect(await helm('template', 'shown', chart, '--dry-run=server')).toContain('passwordWasThere: "false"');
    const refused = await call(['install', 'bad', chart, '--set', 'replicas=many']);
    expect(refused.code).not.toBe(0);
    expect(refused.stderr).toContain('cannot unmarshal');
  });
});
