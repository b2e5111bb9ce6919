import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { slurm } from './registration.ts';

const directory = mkdtempSync(join(tmpdir(), 'capstan-slurm-'));
afterAll(() => rmSync(directory, { recursive: true }));

const program = (name: string, text: string): void => writeFileSync(join(directory, name), `#!/bin/sh\n${text}`, { mode: 0o755 });
program(
  'scontrol',
  `case "$*" in
  *'show node'*)
    [ -n "$STATE" ] || { echo 'Node g9 not found'; exit 1; }
    echo "NodeName=g1 Arch=x86_64 OS=Linux State=$STATE ThreadsPerCore=1 Partitions=gpu \${REASON:+Reason=$REASON [root@2026-01-01T00:00:00]}" ;;
  'show slurmd') exit "\${SLURMD:-0}" ;;
  *) echo "> $*" ;;
esac
`,
);
program('squeue', 'printf "12\\n13\\n"\n');
program('munge', 'cat');
program('unmunge', 'exit "$CODE"\n');

// The kinds of file systems, as `path=kind`.
program('stat', 'for entry in $KINDS; do [ "${entry%=*}" != "$3" ] || echo "${entry#*=}"; done\n');
// Too full for an installation, so that nothing is installed.
program('df', 'printf "Filesystem Available\\ndisk 1 1 0\\n"\n');
program('uname', 'echo g1\n');

interface Result {
  readonly code: number;
  readonly output: string;
}

function run(name: string, args: readonly string[], environment: Readonly<Record<string, string>> = {}): Promise<Result> {
  const { content } = slurm.scripts().find((script) => script.name === name)!;
  const env = { PATH: `${directory}:${process.env['PATH']}`, ...environment };
  return new Promise((resolve) => {
    execFile('/bin/sh', ['-c', content, 'sh', ...args], { env }, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : Number(error.code), output: `${stdout}${stderr}`.trim() }),
    );
  });
}

const node = (args: readonly string[], STATE: string, REASON = '') => run('slurm-node', args, { STATE, REASON });
const changes = async (result: Promise<Result>): Promise<string[]> =>
  (await result).output
    .split('\n')
    .filter((line) => line.startsWith('> '))
    .map((line) => line.slice('> update nodename=g1 state='.length));

describe('prepare', () => {
  const groups = '/sys/fs/cgroup';
  const version1 = ['cpuacct', 'cpuset', 'devices', 'freezer', 'memory', 'systemd'].map((name) => `${groups}/${name}=cgroupfs`);
  const kinds = (...entries: readonly string[]) =>
    run('slurm-prepare', ['i', 'g1', 'cgroup', '6818'], { KINDS: [`${groups}=tmpfs`, ...entries].join(' ') });

  test('goes on with control groups of version 1', async () => {
    // One of the later checks stops it: the disk is full, or tests run Slurm on this machine.
    expect([21, 28]).toContain((await kinds(...version1)).code);
  });

  test.each([
    ['version 1 without devices', version1.filter((entry) => !entry.includes('devices')), 'have no devices;'],
    ['neither version', [], 'no control groups in /sys/fs/cgroup where Slurm looks for them'],
  ])('refuses to confine jobs with %s, and says why', async (_, entries, reason) => {
    const { code, output } = await kinds(...entries);
    expect(code).toBe(27);
    expect(output).toContain(reason);
  });
});

describe('node', () => {
  test.each([
    ['a node that takes jobs', 'IDLE', '', ['drain reason=capstan: op-1']],
    ['a node that a GPU has drained', 'IDLE+DRAIN', 'capstan: gpu GPU-1 is out of order', ['drain reason=capstan: op-1']],
    ['no node that we have drained', 'MIXED+DRAIN', 'capstan: op-0', []],
    ['no node that others have drained', 'IDLE+DRAIN', 'their work', []],
  ])('drains %s', async (_, state, reason, expected) => {
    expect(await changes(node(['drain', 'g1', 'capstan: op-1'], state, reason))).toEqual(expected);
  });

  test.each([
    ['nothing that takes jobs', ['IDLE', '', 'others-fail'], 0, []],
    ['our own drains', ['IDLE+DRAIN', 'capstan: op-1 fan', 'others-fail'], 0, ['resume']],
    ['no drains of others', ['IDLE+DRAIN', 'fan', 'others-fail'], 37, []],
    ['no drains that only mention us', ['IDLE+DRAIN', 'not capstan: fan', 'others-fail'], 37, []],
    ['drains of others by force', ['IDLE+DRAIN', 'fan', 'force'], 0, ['resume']],
  ] as const)('lifts %s', async (_, [state, reason, others], code, expected) => {
    const result = node(['resume', 'g1', others], state, reason);
    expect((await result).code).toBe(code);
    expect(await changes(result)).toEqual(expected);
  });

  test.each([
    ['a broken GPU drains', ['MIXED', '', 'GPU-1'], ['drain reason=capstan: gpu GPU-1 is out of order']],
    ['a broken GPU drains once', ['IDLE+DRAIN', 'capstan: gpu GPU-1 is out of order', 'GPU-1'], []],
    ['a GPU that works again resumes', ['IDLE+DRAIN', 'capstan: gpu GPU-1 is out of order', ''], ['resume']],
    ['the drain of a person stays when GPUs work', ['IDLE+DRAIN', 'capstan: op-1 fan', ''], []],
    ['the drain of a person stays when GPUs break', ['IDLE+DRAIN', 'capstan: op-1 fan', 'GPU-1'], []],
    ['the drain of others stays', ['IDLE+DRAIN', 'fan', ''], []],
    ['healthy nodes stay as they are', ['IDLE', '', ''], []],
  ] as const)('%s', async (_, [state, reason, gpus], expected) => {
    expect(await changes(node(['follow-gpus', `g1=${gpus}`], state, reason))).toEqual(expected);
  });

  test.each([
    ['IDLE', 0],
    ['MIXED+DRAIN', 0],
    ['DOWN+NOT_RESPONDING', 38],
    ['UNKNOWN*', 38],
    ['IDLE+DRAIN+INVALID_REG', 38],
  ])('says whether Slurm can use a node that is %s', async (state, code) => {
    expect((await node(['registered', 'g1'], state)).code).toBe(code);
  });

  test('calls no node registered whose daemon does not answer', async () => {
    expect(await run('slurm-node', ['registered', 'g1'], { STATE: 'IDLE', SLURMD: '1' })).toEqual({
      code: 38,
      output: 'error: slurmd on this member does not answer',
    });
  });

  test.each([
    ['IDLE+DRAIN', 0, 'g1 is IDLE+DRAIN'],
    ['MIXED+DRAIN', 38, 'error: g1 still runs the jobs 12 13'],
    ['DOWN+DRAIN', 0, 'g1 is DOWN+DRAIN'],
    ['IDLE', 38, 'error: g1 is not drained: IDLE'],
  ])('says whether a node that is %s is drained', async (state, code, output) => {
    expect(await node(['drained', 'g1'], state)).toEqual({ code, output });
  });

  test('names a node that Slurm does not know', async () => {
    expect(await node(['drain', 'g9', 'x'], '')).toEqual({ code: 36, output: 'error: Slurm does not know the node g9' });
  });
});

test('refuses a machine that has another host name, and says what to do', async () => {
  const { code, output } = await run('slurm-prepare', ['id', 'other-than-this', 'none', '6817']);
  expect([code, output]).toEqual([
    24,
    expect.stringMatching(/^error: the host name of this machine is .+ reported other-than-this.+hostnamectl/),
  ]);
});

test.each([
  ['an expired credential', 'error: Munge decode failed: Expired credential', /for instance with chrony$/],
  ['a missing device', "fatal: can't stat gres.conf file /dev/nvidia1: No such file or directory", /look at its driver$/],
  ['another host name', "fatal: Unable to determine this slurmd's NodeName", /set it back with hostnamectl$/],
  ['control groups that are missing', 'error: cgroup namespace not mounted', /set the parameter confinement to none$/],
  ['anything else', 'error: no idea', /^error: no idea$/],
])('explains %s in the log of a daemon', async (_, line, advice) => {
  writeFileSync(join(directory, 'slurmd.log'), `[2026-11-16T10:00:00.000] debug: fine\n[2026-11-16T10:00:01.000] ${line}\ndebug: more\n`);
  const { content } = slurm.scripts().find((script) => script.name === 'slurm-service')!;
  const shared = content.slice(content.indexOf('fail() {'), content.indexOf('# The program that listens'));
  const said = await new Promise<string>((resolve) => {
    execFile('/bin/sh', ['-c', `logs=${directory}\n${shared}\ncomplaint slurmd`], (_error, stdout) => resolve(stdout));
  });
  expect(said).toContain(line);
  expect(said).toMatch(advice);
});

test.each([
  ['fits', '0', 0],
  ['fits, although the credential is old', '15', 0],
  ['fits, although the credential was seen before', '17', 0],
  ['differs', '14', 30],
  ['may fit, but the clock is wrong', '16', 31],
])('the munge key %s', async (_, unmunge, code) => {
  expect((await run('slurm-check-credential', ['MUNGE:x:'], { CODE: unmunge })).code).toBe(code);
});
