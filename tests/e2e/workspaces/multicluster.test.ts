import { run, startCapstan, startControllerManager } from '@capstan/testbed';
import { describeWith } from '@capstan/testbed/vitest';
import { expect, test } from 'vitest';

const exporting = [
  'an export is created and bound',
  'objects of all bound workspaces are reconciled',
  'workspaces are found by their paths',
  'resources without an accepted claim are not accessible',
  'changes are followed',
  'owned objects are recreated',
  'events are recorded in the workspace of the object',
  'a workspace is engaged when it binds',
  'a workspace is disengaged when it unbinds',
  'a workspace is disengaged when it is deleted',
  'the controllers stop',
];
const beginningAndEnding = [
  'a workspace type has an initializer and a terminator',
  'workspaces of the type wait for the controller',
  'the controller initializes them',
  'they are disengaged after initialization',
  'the controller terminates them',
];

/**
 * Controllers as kcp's users write them: multicluster-runtime with kcp's providers, unchanged, running as service accounts with few rights.
 */
await describeWith(['multicluster'], 'controllers for many workspaces', ({ multicluster }) => {
  test('serve workspaces that bind an export, are initialized, or are terminated', { timeout: 300_000 }, async () => {
    await using server = await startCapstan({ store: 'sqlite' });
    await using _manager = await startControllerManager(server);
    const { code, stdout, stderr } = await run(multicluster, ['--kubeconfig-file', server.kubeconfig], { timeout: 240_000 });
    expect(code, stderr).toBe(0);
    expect(JSON.parse(stdout)).toEqual([...exporting, ...beginningAndEnding].map((name) => ({ name, ok: true })));
  });
});
