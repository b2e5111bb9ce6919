import { describe, expect, test } from 'vitest';
import type { AdapterMember, ProbeAnswer } from '../../adapter/contract.ts';
import { distributionOf } from './distribution.ts';
import { hashOf } from './drift.ts';
import { observationOf } from './observe.ts';
import { configOf } from './settings.ts';
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

test('says that etcd has no quorum if most servers are lost', () => {
  const servers = [1, 2, 3].map((index) => memberOf('server', index, joined));
  const alone = answer('service active', 'api not-ready');
  expect(observe(servers, { 'lab-server-1': alone, 'lab-server-2': answer('service inactive') })).toMatchObject({
    health: 'failed',
    message: expect.stringContaining('2 of 3 servers are lost, so etcd has no quorum'),
  });
  expect(observe(servers, { 'lab-server-1': alone, 'lab-server-2': alone, 'lab-server-3': alone }).message).toBe('no server answers');
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

describe('drift', () => {
  const config = hashOf(configOf({ distribution: distributionOf('rke2'), instance: instanceOf(), member: agent, servers: [server] }));
  const asWanted = ['service active', 'version v1.34.1+rke2r1', 'enabled enabled', `config ${config}`, 'node gpu-2 True'];
  const look = (lines: readonly string[], label = 'label gpu-2 lab-agent-2') =>
    observe([server, agent], { [server.name]: serverAnswer(label), [agent.name]: answer(...lines) });

  test('is none if a member is as it was deployed', () => {
    expect(look(asWanted).hasDrifted).toBeUndefined();
    expect(look(['service active', 'node gpu-2 True']).hasDrifted).toBeUndefined();
  });

  test.each([
    ['a changed file', [...asWanted, `config ${'0'.repeat(64)}`], 'config.yaml was changed'],
    ['a missing file', [...asWanted, 'config missing'], 'config.yaml is missing'],
    ['another version', [...asWanted, 'version v1.33.0+rke2r1'], 'v1.33.0+rke2r1 instead of v1.34.1+rke2r1'],
    ['a disabled unit', [...asWanted, 'enabled disabled'], 'systemd does not start'],
  ])('is %s, and leaves the health as it is', (_, lines, message) => {
    const found = look(lines);
    expect(found).toMatchObject({
      health: 'healthy',
      hasDrifted: true,
      members: { [agent.name]: { health: 'healthy', message: expect.stringContaining(message) } },
    });
  });

  test('is a lost label', () => {
    expect(look(asWanted, 'label gpu-2')).toMatchObject({ hasDrifted: true });
  });

  test('does not depend on secrets, nor on lines that only nodes know', () => {
    const text = 'token: "a"\nagent-token: "b"\nnode-name: "c"\n';
    expect(hashOf(text)).toBe(hashOf('node-name: "c"\n'));
    expect(hashOf('{\n  "token": "x",\n  "a": [\n    "${fact:authority}"\n  ]\n}')).toBe(hashOf('{\n  "a": [\n    "sha256:12"\n  ]\n}\n'));
  });

  test('of members that are stopped or leave does not count', () => {
    for (const change of [{ state: 'stopped' }, { isWanted: false }]) {
      const member = { ...agent, ...change };
      const probes = { [server.name]: serverAnswer(), [agent.name]: answer('service active', 'config missing') };
      expect(observe([server, member], probes).hasDrifted).toBeUndefined();
    }
  });
});

test('survives any output', () => {
  for (const output of ['', '\n\n', 'node\nexpires never\nsnapshot', '\u0000 service', 'x'.repeat(70_000)])
    expect(observe([server], { [server.name]: { exitCode: 1, output } }).health).toBe('failed');
});
