import { writeFileSync } from 'node:fs';
import { kubeconfigText, readConnection } from '@capstan/testbed';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Kubectl } from '../support/kubectl.ts';
import { configMap } from '../support/objects.ts';
import { describeServers } from '../support/target.ts';

await describeServers('kubectl and permissions', ['kubectl'], (target, paths) => {
  const kubectl = new Kubectl(paths.kubectl, target);

  beforeAll(async () => {
    await kubectl.makeNamespace();
    await kubectl.run('create', 'serviceaccount', 'robot');
    await kubectl.run('create', 'role', 'reader', '--verb=get,list,watch', '--resource=configmaps');
    await kubectl.run('create', 'rolebinding', 'robot-reads', '--role=reader', `--serviceaccount=${kubectl.namespace}:robot`);
    await kubectl.create(configMap('seen', { a: '1' }));
  });
  afterAll(() => kubectl.dropNamespace());

  const robot = (): string => `system:serviceaccount:${kubectl.namespace}:robot`;

  test('auth whoami names the administrator', async () => {
    expect(await kubectl.run('auth', 'whoami', '-o', 'jsonpath={.status.userInfo.groups}')).toContain('system:masters');
  });

  test('auth can-i answers for the user and for others', async () => {
    expect(await kubectl.run('auth', 'can-i', 'create', 'deployments')).toBe('yes');
    expect(await kubectl.run('auth', 'can-i', 'list', 'configmaps', '--as', robot())).toBe('yes');
    const no = await kubectl.call(['auth', 'can-i', 'delete', 'configmaps', '--as', robot()]);
    expect([no.code, no.stdout.trim()]).toEqual([1, 'no']);
    expect(await kubectl.run('auth', 'can-i', '--list', '--as', robot())).toMatch(/configmaps\s+\[\]\s+\[\]\s+\[get list watch\]/);
  });

  test('limits an impersonating user to the rights of the other user', async () => {
    expect(await kubectl.run('get', 'cm', 'seen', '-o', 'name', '--as', robot())).toBe('configmap/seen');
    expect(await kubectl.refused('delete', 'cm', 'seen', '--as', robot())).toBe(
      `Error from server (Forbidden): configmaps "seen" is forbidden: User "${robot()}" cannot delete resource "configmaps" in API group "" in the namespace "${kubectl.namespace}"`,
    );
  });

  test('accepts a service account token for what the account may do', async () => {
    const token = await kubectl.run('create', 'token', 'robot', '--duration=10m');
    expect(token.split('.')).toHaveLength(3);
    const connection = readConnection(target().kubeconfig);
    const server = `https://${connection.host}:${connection.port}`;
    const file = target().home.join('robot.kubeconfig');
    writeFileSync(file, kubeconfigText({ server, token, ...(connection.ca === undefined ? {} : { authority: connection.ca.toString() }) }));
    const asRobot = new Kubectl(paths.kubectl, () => ({ ...target(), kubeconfig: file }));
    expect(await asRobot.run('auth', 'whoami', '-o', 'jsonpath={.status.userInfo.username}')).toBe(robot());
    expect(await asRobot.run('get', 'cm', 'seen', '-o', 'name')).toBe('configmap/seen');
    expect(await asRobot.refused('get', 'secrets')).toContain('cannot list resource "secrets"');
    writeFileSync(file, kubeconfigText({ server, token: `${token}x` }));
    expect(await asRobot.refused('get', 'cm')).toContain('You must be logged in to the server');
  });

  test('rejects a role that exceeds the rights of its creator', async () => {
    const refused = await kubectl.refused('create', 'role', 'more', '--verb=*', '--resource=secrets', '--as', robot());
    expect(refused).toContain('is forbidden');
  });

  test('auth reconcile updates roles', async () => {
    const role = {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'Role',
      metadata: { name: 'reader', namespace: kubectl.namespace },
      rules: [{ apiGroups: [''], resources: ['secrets'], verbs: ['get'] }],
    };
    expect(await kubectl.give({ input: JSON.stringify(role) }, 'auth', 'reconcile', '-f', '-')).toContain('reconciled');
    expect(await kubectl.run('auth', 'can-i', 'get', 'secrets', '--as', robot())).toBe('yes');
  });
});
