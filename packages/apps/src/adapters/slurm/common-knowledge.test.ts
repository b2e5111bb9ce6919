import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { clusterOf } from './cluster.ts';
import { hostsOf, knowledgeOf, usersOf } from './common-knowledge.ts';
import { slurm } from './registration.ts';
import { packed } from './steps.ts';
import { pretendCluster, pretendRequest } from './testing/cluster.ts';

const script = (name: string): string => slurm.scripts().find((one) => one.name === `slurm-${name}`)!.content;
const part = (name: string, line: RegExp): string => line.exec(script(name))![0];

test.each([
  [
    'some users',
    [
      { name: 'ann', uid: 2001 },
      { name: 'bob', uid: 2002 },
    ],
  ],
  ['no users', []],
])('members say what they know with the hashes that are expected: %s', (_, users) => {
  const folder = mkdtempSync(join(tmpdir(), 'capstan-knowledge-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const request = pretendRequest(pretendCluster(), { type: 'deploy' }, { users });
  const cluster = clusterOf(request);
  writeFileSync(join(folder, 'hosts'), '127.0.0.1 localhost\n# mine\n');
  const lines = [
    `state=${folder}; hosts=${folder}/hosts`,
    `set -- ${usersOf(cluster).join(' ')}`,
    part('accounts', /^for entry; do echo .*$/m),
    `set -- ${packed(hostsOf(cluster).map((line) => line.replace(' ', '=')))
      .map((words) => `'${words}'`)
      .join(' ')}`,
    part('configure', /^\{\n(?: .*\n)+\} >> "\$hosts"$/m),
    part('probe', /^hosts=.*$/m).replace('/etc/hosts', `${folder}/hosts`),
    part('probe', /^users=.*$/m),
    'printf \'{"hosts":"%s","users":"%s"}\' "$hosts" "$users"',
  ];
  expect(JSON.parse(execFileSync('sh', ['-euc', lines.join('\n')], { encoding: 'utf8' }))).toEqual(knowledgeOf(request));
});

test('the order of members says nothing', () => {
  const [controller, one, two, login] = pretendCluster();
  const hosts = (compute: readonly NonNullable<typeof one>[]) =>
    knowledgeOf(pretendRequest([controller!, ...compute, login!], { type: 'none' }))?.hosts;
  expect(hosts([one!, two!])).toBe(hosts([two!, one!]));
});

test('members that come or go are told by their operation, and a cluster that is not possible is no drift', () => {
  for (const change of [{ hasJoined: false }, { isWanted: false }, { hostname: 'g2' }])
    expect(knowledgeOf(pretendRequest(pretendCluster({ g1: change }), { type: 'deploy' }))).toBeUndefined();
});
