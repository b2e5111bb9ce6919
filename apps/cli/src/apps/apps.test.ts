import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type AppInstance, type AppSpec, clusterKubeconfig } from '@capstan/api';
import { afterAll, describe, expect, test } from 'vitest';
import { KubeconfigFile } from '../workspaces/kubeconfig-file.ts';
import { fieldLines } from './catalog.ts';
import { outcomeOf } from './deploy.ts';
import { fieldsFrom, readWish, wishOf } from './wish.ts';
import { errorLines, nextActions, progressLine, reportLine, stepLines } from './words.ts';

const directory = mkdtempSync(join(tmpdir(), 'capstan-cli-apps-'));
afterAll(() => rmSync(directory, { recursive: true }));

const placement = {
  type: 'object',
  required: ['server_allocation_id'],
  properties: {
    server_allocation_id: { type: 'string', format: 'allocation', description: 'The server.' },
    agent_allocation_ids: { type: 'array', items: { type: 'string' } },
    size: { type: 'integer' },
  },
};

describe('a placement', () => {
  test('is read by the types of the app', () => {
    const words = ['server_allocation_id=12', 'agent_allocation_ids=b,c', 'size=3'];
    expect(fieldsFrom(words, placement, '--placement')).toEqual({ server_allocation_id: '12', agent_allocation_ids: ['b', 'c'], size: 3 });
    expect(fieldsFrom(['agent_allocation_ids=["x"]'], placement, '-p')).toEqual({ agent_allocation_ids: ['x'] });
    expect(fieldsFrom(['agent_allocation_ids='], placement, '-p')).toEqual({ agent_allocation_ids: [] });
    expect(fieldsFrom(['flag=true', 'text=a=b'], undefined, '-p')).toEqual({ flag: true, text: 'a=b' });
  });

  test('names the keys that there are', () => {
    expect(() => fieldsFrom(['server=a'], placement, '--placement')).toThrow('it has server_allocation_id, agent_allocation_ids, size');
    expect(() => fieldsFrom(['server'], placement, '--placement')).toThrow('expected --placement key=value');
  });

  test('of a file is changed by flags', () => {
    const file = join(directory, 'wish.yaml');
    writeFileSync(
      file,
      'kind: AppInstance\nspec:\n  app: rke2\n  placement: { server_allocation_id: a, size: 1 }\n  parameters: { x: 1 }\n',
    );
    const app = { name: 'rke2', spec: { placement } as unknown as AppSpec };
    expect(wishOf({ placement: ['size=2'], appVersion: 'v1' }, readWish(file), app)).toEqual({
      app: 'rke2',
      placement: { server_allocation_id: 'a', size: 2 },
      parameters: { x: 1 },
      version: 'v1',
    });
    writeFileSync(file, 'placement: {}\n');
    expect(readWish(file)).toEqual({ placement: {} });
    expect(() => readWish(join(directory, 'none'))).toThrow('cannot be read');
  });

  test('is explained', () => {
    expect(fieldLines(placement)).toEqual([
      'server_allocation_id (string, required): The server.',
      'agent_allocation_ids (array)',
      'size (integer)',
    ]);
  });
});

const instance = (status: object, spec: object = {}): AppInstance =>
  ({
    metadata: { name: 'k1', generation: 2 },
    spec: { app: 'rke2', stopped: false, ...spec },
    status: { observedGeneration: 2, ...status },
  }) as unknown as AppInstance;
const operation = (state: string) => ({ lastOperation: { id: 'o', type: 'deploy', state, step: 'Join a', message: 'slow' } });

describe('an instance', () => {
  test.each([
    ['is not seen yet', { observedGeneration: 1, state: 'running', ...operation('succeeded') }, undefined],
    ['is being deployed', { state: 'deploying', ...operation('processing') }, undefined],
    ['is tried again', { state: 'deploying', ...operation('retrying') }, undefined],
    ['runs', { state: 'running', ...operation('succeeded') }, 0],
    ['has failed', { state: 'failed', ...operation('failed') }, 1],
    ['runs after a failed change', { state: 'running', ...operation('failed') }, 1],
    ['needs a person', { state: 'deploying', ...operation('needs_intervention') }, 1],
    ['waits for its allocation', { state: 'pending' }, undefined],
  ])('that %s', (_, status, expected) => expect(outcomeOf(instance(status), 2)).toBe(expected));

  test('that was to be stopped is done when it is', () => {
    expect(outcomeOf(instance({ state: 'running', ...operation('succeeded') }, { stopped: true }), 2)).toBeUndefined();
    expect(outcomeOf(instance({ state: 'stopped', ...operation('succeeded') }, { stopped: true }), 2)).toBe(0);
  });

  test('is described in a line, and with the commands by which to go on', () => {
    const status = {
      state: 'deploying',
      phase: 'agent_joining',
      progress: { completed: 3, total: 9 },
      message: 'waits for \x1b[31mnode b',
      ...operation('processing'),
      allowedActions: [
        { action: 'retry', title: 'Try again', isDestructive: false },
        { action: 'repair', member: 'k1-b', title: 'Repair', isDestructive: false },
      ],
    };
    expect(progressLine(instance(status))).toBe('deploying 3/9, agent_joining, Join a, waits for \\x1b[31mnode b');
    expect(nextActions(instance(status))).toEqual([
      'capstan app do k1 retry   Try again',
      'capstan app do k1 repair --member k1-b   Repair',
    ]);
  });
});

test('a problem is printed with its place, its hints and the end of the output', () => {
  const error = {
    code: 'JoinFailed',
    message: 'no answer',
    member: 'k1-b',
    step: 'Join',
    output: 'one\ntwo\n',
    userFixable: true,
    retryable: true,
  };
  expect(errorLines(error)).toEqual([
    'JoinFailed (k1-b, Join): no answer',
    '    you can fix this; trying again may help',
    '    | one',
    '    | two',
  ]);
});

test('a plan is printed stage by stage', () => {
  const step = (stage: number, title: string, more: object = {}) => ({ id: title, title, stage, state: 'pending' as const, ...more });
  expect(stepLines([step(2, 'Join', { member: 'b' }), step(1, 'Install', { state: 'failed', message: 'no room' })])).toEqual([
    '  1  Install (failed, no room)',
    '  2  Join [b]',
  ]);
});

test('a step whose title names its member or node is printed without the member', () => {
  const lines = (...titles: string[]) =>
    stepLines(
      titles.map((title) => ({ id: title, title, stage: 1, state: 'pending' as const, member: 'k1-b' })),
      new Map([['k1-b', 'gpu-1']]),
    );
  expect(lines('Start rke2 on gpu-1', 'Drain gpu-1: no pods', 'Repair k1-b.', 'Wait for gpu-10', 'Join')).toEqual([
    '  1  Start rke2 on gpu-1',
    '  1  Drain gpu-1: no pods',
    '  1  Repair k1-b.',
    '  1  Wait for gpu-10 [k1-b]',
    '  1  Join [k1-b]',
  ]);
});

test('a report of an app is printed with its source and age', () => {
  const reported = { phase: 'joining', progress: { completed: 2, total: 5 }, source: 'agent/gpu-1', reportedAt: new Date().toISOString() };
  expect(reportLine(instance({ reported }))).toMatch(/^joining 2\/5 \(by agent\/gpu-1, \d+s ago\)$/);
  expect(reportLine(instance({}))).toBeUndefined();
});

describe('a kubeconfig of a cluster', () => {
  const user = { token: 'mine' };
  const cluster = { 'certificate-authority-data': 'Y2E=', server: 'https://capstan:6443/clusters/root:a' };

  test('has our address and the own credentials of the user', () => {
    expect(
      clusterKubeconfig({ server: cluster.server, cluster, user, workspace: 'root:a', namespace: 'default', name: 'k1' }),
    ).toMatchObject({
      clusters: [
        {
          cluster: {
            'certificate-authority-data': 'Y2E=',
            server: 'https://capstan:6443/clusters/root:a/apis/apps.capstan.dev/v1alpha1/namespaces/default/appinstances/k1/proxy',
          },
        },
      ],
      users: [{ name: 'k1', user }],
      'current-context': 'k1',
    });
  });

  test('becomes a context of the present one, with its user, and the current context stays', () => {
    const file = join(directory, 'config');
    const contexts = [{ name: 'here', context: { cluster: 'capstan', user: 'me' } }];
    writeFileSync(
      file,
      JSON.stringify({ clusters: [{ name: 'capstan', cluster }], users: [{ name: 'me', user }], contexts, 'current-context': 'here' }),
    );
    const own = KubeconfigFile.read(file);
    own.addCluster('k1', { context: 'here', cluster: { ...own.clusterOf('here'), server: 'https://x/proxy' } });
    const changed = KubeconfigFile.read(file);
    expect(changed.currentContext).toBe('here');
    expect(changed.contexts).toEqual([
      { name: 'here', server: cluster.server, user: 'me', namespace: '' },
      { name: 'k1', server: 'https://x/proxy', user: 'me', namespace: '' },
    ]);
    expect(changed.userOf('k1')).toEqual(user);
  });
});
