import { run } from '@capstan/testbed';
import { expect, test } from 'vitest';
import { Kubectl } from '../support/kubectl.ts';
import { describeServers } from '../support/target.ts';

const expected = [
  'the definition is established',
  'the operator leads',
  'every object is reconciled',
  'changes are followed',
  'invalid objects are rejected',
  'events are recorded',
  'finalizers run',
  'the operator stops',
];

await describeServers('a controller-runtime operator', ['operator', 'kubectl'], (target, paths) => {
  test('creates its kind, leads, reconciles, and writes status and events', async () => {
    const kubectl = new Kubectl(paths.kubectl, target);
    await kubectl.makeNamespace();
    const result = await run(paths.operator, ['--kubeconfig-file', target().kubeconfig, '--namespace', kubectl.namespace]);
    await kubectl.dropNamespace();
    expect(result.code, result.stderr).toBe(0);
    expect(JSON.parse(result.stdout)).toEqual(expected.map((name) => ({ name, ok: true })));
  });
});
