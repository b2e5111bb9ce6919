import { expect, test } from 'vitest';
import type { AdapterMember, ProbeAnswer } from '../../adapter/contract.ts';
import { observationOf } from './observe.ts';
import { instanceOf, joined, memberOf } from './testing.ts';

const answer = (...lines: string[]): ProbeAnswer => ({ exitCode: 0, output: `${lines.join('\n')}\n` });
const server = memberOf('server', 1, joined);
const agent = memberOf('agent', 2, joined);
const serverAnswer = (...lines: string[]): ProbeAnswer =>
  answer(
    'service active',
    'version v1.34.1+rke2r1',
    'api ready',
    'node gpu-1 True',
    'node gpu-2 True',
    'expires 2027-01-02T03:04:05Z',
    ...lines,
  );
const agentAnswer = answer('service active', 'node gpu-2 True');

function observe(members: readonly AdapterMember[], probes: Readonly<Record<string, ProbeAnswer>>) {
  return observationOf({ instance: instanceOf(), members, probes, facts: {} });
}

test('is healthy if the servers answer and all nodes are ready', () => {
  const found = observe([server, agent], { [server.name]: serverAnswer('snapshot s-1'), [agent.name]: agentAnswer });
  expect(found).toMatchObject({
    health: 'healthy',
    certificatesExpireAt: '2027-01-02T03:04:05.000Z',
    refused: [],
    members: {
      [server.name]: { health: 'healthy', endpoint: 'https://192.0.2.11:6443', detail: { version: 'v1.34.1+rke2r1', snapshots: ['s-1'] } },
      [agent.name]: { health: 'healthy' },
    },
  });
});

test('progresses while agents join a server that is ready', () => {
  const joining = memberOf('agent', 2, { state: 'joining' });
  expect(observe([server, joining], { [server.name]: serverAnswer() })).toMatchObject({ health: 'progressing' });
  expect(observe([memberOf('server', 1), joining], {})).toMatchObject({ health: 'progressing' });
});

test('is degraded if an agent did not join a usable cluster', () => {
  const failed = memberOf('agent', 2, { state: 'failed' });
  expect(observe([server, failed], { [server.name]: serverAnswer() })).toMatchObject({
    health: 'degraded',
    members: { [failed.name]: { health: 'failed', isRepairable: true } },
  });
});

test('has failed if the server was not deployed, or does not answer', () => {
  expect(observe([memberOf('server', 1, { state: 'failed' }), memberOf('agent', 2)], {})).toMatchObject({ health: 'failed' });
  const found = observe([server, agent], { [server.name]: answer('service active', 'api not-ready'), [agent.name]: agentAnswer });
  expect(found).toMatchObject({ health: 'failed', members: { [server.name]: { health: 'failed', isRepairable: true } } });
  expect(found.refused?.map(({ operation }) => operation)).toEqual(['drain', 'uncordon', 'snapshot', 'restore']);
});

test('silence is unknown, and never a failure', () => {
  expect(observe([server, agent], {})).toMatchObject({ health: 'unknown', members: { [agent.name]: { health: 'unknown' } } });
  const found = observe([server, agent], { [server.name]: serverAnswer() });
  expect(found).toMatchObject({ health: 'degraded', members: { [agent.name]: { health: 'unknown' } } });
  expect(found.members[agent.name]?.isRepairable).toBeUndefined();
});

test('one of three servers may fail', () => {
  const servers = [1, 2, 3].map((index) => memberOf('server', index, joined));
  const up = answer('service active', 'api ready', 'node gpu-1 True', 'node gpu-2 True', 'node gpu-3 Unknown');
  const found = observe(servers, { 'lab-server-1': up, 'lab-server-2': up, 'lab-server-3': answer('service inactive') });
  expect(found).toMatchObject({ health: 'degraded', members: { 'lab-server-3': { message: 'the service rke2-server is inactive' } } });
});

test.each([
  ['service inactive', { health: 'failed', isRepairable: true }],
  ['service active', { health: 'healthy' }],
])('an agent whose probe says %j', (line, expected) => {
  expect(observe([server, agent], { [server.name]: serverAnswer(), [agent.name]: answer(line) }).members[agent.name]).toMatchObject(
    expected,
  );
});

test('believes the servers about nodes', () => {
  const probes = {
    [server.name]: answer('service active', 'api ready', 'node gpu-1 True', 'node gpu-2 Unknown'),
    [agent.name]: agentAnswer,
  };
  expect(observe([server, agent], probes).members[agent.name]).toMatchObject({ health: 'degraded', isRepairable: true });
  const cordoned = { [server.name]: serverAnswer('cordoned gpu-2'), [agent.name]: agentAnswer };
  expect(observe([server, agent], cordoned)).toMatchObject({
    health: 'healthy',
    members: { [agent.name]: { message: expect.stringContaining('drained') } },
  });
});

test('warns of certificates that expire', () => {
  const found = observe([server], { [server.name]: serverAnswer('expiring true') });
  expect(found).toMatchObject({
    health: 'degraded',
    members: { [server.name]: { message: expect.stringContaining('rotate-certificates') } },
  });
});

test('survives any output', () => {
  for (const output of ['', '\n\n', 'node\nexpires never\nsnapshot', '\u0000 service', 'x'.repeat(70_000)])
    expect(observe([server], { [server.name]: { exitCode: 1, output } }).health).toBe('failed');
});
