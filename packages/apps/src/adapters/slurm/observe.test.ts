import { expect, test } from 'vitest';
import type { AdapterMember } from '../../adapter/contract.ts';
import { observe } from './observe.ts';
import { type PretendMember, pretendCluster, pretendRequest } from './testing/cluster.ts';

const base = { munged: true, munge: '', key: 'aa', controller: 'Slurmctld(primary) at c1 is UP' };
const good: Readonly<Record<string, object>> = {
  'lab-c1': { ...base, slurmctld: true },
  'lab-g1': { ...base, slurmd: true, answers: true, state: 'IDLE', reason: '', missing: [] },
  'lab-g2': { ...base, slurmd: true, answers: true, state: 'MIXED', reason: '', missing: [] },
  'lab-l1': base,
};

interface Look {
  readonly changes?: Readonly<Record<string, object>>;
  readonly members?: readonly AdapterMember[];
  readonly silent?: readonly string[];
}

const look = ({ changes = {}, members = pretendCluster(), silent = [] }: Look = {}) =>
  observe({
    ...pretendRequest(members, { type: 'none' }),
    probes: Object.fromEntries(
      Object.entries(good)
        .filter(([name]) => !silent.includes(name))
        .map(([name, found]) => [name, { exitCode: 0, output: `${JSON.stringify({ ...found, ...changes[name] })}\n` }]),
    ),
  });
const withGpus = (g1: PretendMember) => pretendCluster({ g1 });
const broken = withGpus({ gpus: [{ device: '/dev/nvidia0', isHealthy: false }] });

test('is healthy if all services are', () => {
  expect(look()).toMatchObject({ health: 'healthy', members: { 'lab-c1': { health: 'healthy', endpoint: '10.0.0.1:6817' } } });
});

test.each([
  ['slurmd does not run', { slurmd: false }],
  ['slurmd runs, but does not answer', { answers: false }],
  ['munged does not run', { munged: false }],
  ['its munge key is not that of the controller', { key: 'bb', state: '' }],
  ['the munge key is missing', { key: '' }],
  ['munge does not work: no socket', { munge: 'no socket' }],
  ['Slurm says that it is DOWN+NOT_RESPONDING: away', { state: 'DOWN+NOT_RESPONDING', reason: 'away' }],
])('names the problem of a node that repair may solve: %s', (message, change) => {
  const { health, members } = look({ changes: { 'lab-g1': change } });
  expect(health).toBe('degraded');
  expect(members['lab-g1']).toMatchObject({ health: 'failed', message, isRepairable: true });
});

test('does not believe that a node is idle whose daemon has died', () => {
  expect(look({ changes: { 'lab-g2': { slurmd: false, state: 'IDLE' } } }).members['lab-g2']).toMatchObject({ health: 'failed' });
});

test('names GPUs whose device files are missing', () => {
  const { members } = look({ changes: { 'lab-g1': { missing: ['/dev/nvidia1'] } } });
  const message = '/dev/nvidia1 of its GPUs is missing: look at the driver of the machine';
  expect(members['lab-g1']).toMatchObject({ health: 'degraded', message });
  const ended = look({ changes: { 'lab-g1': { missing: ['/dev/nvidia1'], slurmd: false } } }).members['lab-g1'];
  expect(ended).toEqual(expect.objectContaining({ health: 'failed', message: `slurmd does not run, as ${message}`, isRepairable: false }));
});

test.each([
  ['a full disk', { full: ['/var/lib/slurm/slurmctld'] }, 'the disk with /var/lib/slurm/slurmctld is full'],
  ['another host name', { host: 'g7.example' }, 'its host name is g7, but Slurm knows it as g1'],
  ['a clock that is ahead', { now: 2_000, controller: 'error' }, 'its clock is 17 minutes ahead of that of the controller'],
  ['a clock that is behind', { now: 400, controller: 'error' }, 'its clock is 10 minutes behind that of the controller'],
])('names %s, which no repair changes', (_, change, message) => {
  const { members } = look({ changes: { 'lab-c1': { now: 1_000 }, 'lab-g1': change } });
  expect(members['lab-g1']).toMatchObject({ health: 'failed', message: expect.stringContaining(message), isRepairable: false });
});

test('does not call a clock wrong because an answer is old', () => {
  expect(look({ changes: { 'lab-c1': { now: 1_000 }, 'lab-g1': { now: 100 } } }).members['lab-g1']).toMatchObject({ health: 'healthy' });
});

test('repeats the log of a daemon that has ended, and counts its starts', () => {
  const found = { slurmd: false, why: 'fatal: no', starts: 9 };
  expect(look({ changes: { 'lab-g1': found } }).members['lab-g1']).toMatchObject({
    message: 'slurmd does not run, and was started 9 times in the last ten minutes; its log says "fatal: no"',
  });
  expect(look({ changes: { 'lab-g1': { ...found, slurmd: true } } }).members['lab-g1']).toMatchObject({
    health: 'degraded',
    message: expect.stringContaining('was started 9 times'),
  });
});

test('fails with its controller, and is unknown while that is silent', () => {
  expect(look({ changes: { 'lab-c1': { slurmctld: false } } })).toMatchObject({
    health: 'failed',
    message: 'the controller: slurmctld does not run',
  });
  expect(look({ silent: ['lab-c1'] })).toMatchObject({ health: 'unknown', members: { 'lab-g1': { health: 'healthy' } } });
});

test('is degraded while a node is silent, and offers no repair of it', () => {
  const { health, members } = look({ silent: ['lab-g2'] });
  expect(health).toBe('degraded');
  expect(members['lab-g2']).toEqual({ health: 'unknown', message: 'its node has not answered yet' });
});

test('wants to drain a node with a GPU that is out of order, and is content when it is drained', () => {
  expect(look({ members: broken })).toMatchObject({ hasDrifted: true, members: { 'lab-g1': { health: 'degraded' } } });
  const drained = look({
    members: broken,
    changes: { 'lab-g1': { state: 'IDLE+DRAIN', reason: 'capstan: gpu GPU-g1-0 is out of order' } },
  });
  expect(drained.hasDrifted).toBeUndefined();
  expect(drained.members['lab-g1']).toMatchObject({ health: 'degraded', message: expect.stringContaining('so the node is drained') });
});

test('wants to resume a node whose GPUs work again, but not one that a person has drained', () => {
  const drainedFor = (reason: string) => look({ changes: { 'lab-g1': { state: 'IDLE+DRAIN', reason } } });
  expect(drainedFor('capstan: gpu GPU-g1-0 is out of order').hasDrifted).toBe(true);
  expect(drainedFor('capstan: op-7 new cable').hasDrifted).toBeUndefined();
  expect(drainedFor('capstan: op-7 new cable').members['lab-g1']).toMatchObject({ health: 'healthy' });
  expect(drainedFor('mine').members['lab-g1']).toMatchObject({ health: 'degraded', message: 'somebody else has drained it: mine' });
});

test('refuses to resume a node with a GPU that is out of order, and to drain members without jobs', () => {
  const { refused } = look({ members: broken });
  expect(refused).toContainEqual(expect.objectContaining({ operation: 'undrain', member: 'lab-g1', reason: 'GpuUnhealthy' }));
  expect(refused).toContainEqual(expect.objectContaining({ operation: 'drain', member: 'lab-c1', reason: 'NotANode' }));
});

test('does not trust a probe that prints something else', () => {
  const request = pretendRequest(pretendCluster(), { type: 'none' });
  const { members } = observe({ ...request, probes: { 'lab-g1': { exitCode: 127, output: 'sh: not found' } } });
  expect(members['lab-g1']).toMatchObject({ health: 'failed', message: 'the probe printed no JSON' });
});

test.each([
  ['the users', { users: 'old' }],
  ['the other members', { hosts: 'old' }],
])('a member that was silent while %s changed has drifted, and works', (subject, change) => {
  const { health, hasDrifted, members } = look({ changes: { 'lab-g1': change } });
  expect({ health, hasDrifted }).toEqual({ health: 'healthy', hasDrifted: true });
  expect(members['lab-g1']).toMatchObject({
    health: 'healthy',
    message: `it does not know of changes of ${subject}; \`reconcile\` tells it`,
  });
  expect(look({ changes: { 'lab-g1': change }, silent: ['lab-g1'] }).hasDrifted).toBeUndefined();
});

test('a member that does not say what it knows has not drifted', () => {
  expect(look({ changes: { 'lab-g1': { users: '', hosts: '' } } }).hasDrifted).toBeUndefined();
});
