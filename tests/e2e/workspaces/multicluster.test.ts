import { run, startCapstan, startControllerManager } from '@capstan/testbed';
import { describeWith } from '@capstan/testbed/vitest';
import { expect, test } from 'vitest';

const exporting = [
  'an export is made and bound',
  'objects of all bound workspaces are reconciled',
  'workspaces are found by their paths',
  'what was not accepted stays out of reach',
  'changes are followed',
  'owned objects are made again',
  'events are recorded where the object is',
  'a workspace is engaged when it binds',
  'a workspace is disengaged when it unbinds',
  'a workspace is disengaged when it is deleted',
  'the controllers stop',
];
const beginningAndEnding = [
  'a type of workspaces asks for a controller',
  'workspaces of the type wait for it',
  'they are initialized by it',
  'they are disengaged when that is done',
  'they are terminated by it',
];

/** Controllers as kcp's users write them: multicluster-runtime with kcp's providers, unchanged, running as service accounts with few rights. */
await describeWith(['multicluster'], 'controllers for many workspaces', ({ multicluster }) => {
  test('serve those that bind an export, and those that begin or end', { timeout: 300_000 }, async () => {
    await using server = await startCapstan({ store: 'sqlite' });
    await using _manager = await startControllerManager(server);
    const { code, stdout, stderr } = await run(multicluster, ['--kubeconfig-file', server.kubeconfig], { timeout: 240_000 });
    expect(code, stderr).toBe(0);
    expect(JSON.parse(stdout)).toEqual([...exporting, ...beginningAndEnding].map((name) => ({ name, ok: true })));
  });
});
