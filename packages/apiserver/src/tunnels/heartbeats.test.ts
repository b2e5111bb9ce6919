import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { duplexPair } from 'node:stream';
import {
  type AnsweringTunnel,
  answerTunnel,
  dialTunnel,
  type Heartbeat,
  HeartbeatSender,
  heartbeatsPath,
  type Tunnel,
} from '@capstan/streams';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { defaultPolicy } from '../audit/policy.ts';
import { type Agent, callAs, createPlatform, enrolled, fleetPath } from '../node-agents/testing/fleet.ts';
import { startTestServer, type TestServer } from '../testing/harness.ts';
import { Heartbeats } from './heartbeats.ts';

const forever = new AbortController().signal;
const beatOf = (resourceVersion: string, holder = 'run-1'): Heartbeat => ({ resourceVersion, holder, seconds: 40, at: 1_700_000_000_123 });

describe('a server', () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startTestServer();
    await createPlatform(server);
  });
  afterAll(() => server[Symbol.asyncDispose]());

  const leasesOf = (node: string): string => `/clusters/root:platform/apis/coordination.k8s.io/v1/namespaces/node-${node}/leases`;
  const leaseOf = async (node: string, at = server) => (await at.call(`${leasesOf(node)}/${node}`)).json();

  /** Creates the Lease as an agent does, and returns its version. */
  async function createLease(agent: Agent, at = server): Promise<string> {
    const body = {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { name: agent.node },
      spec: { holderIdentity: 'run-1', leaseTransitions: 3 },
    };
    const { code, text } = await callAs(at, agent, leasesOf(agent.node), { method: 'POST', body });
    expect(code).toBe(201);
    return (JSON.parse(text) as { metadata: { resourceVersion: string } }).metadata.resourceVersion;
  }

  /** The tunnel of an agent, with the stream that the server opens in it. */
  async function connect(agent: Agent, at = server): Promise<{ tunnel: AnsweringTunnel; sender: HeartbeatSender }> {
    const { promise, resolve } = Promise.withResolvers<HeartbeatSender>();
    const tls = {
      ca: readFileSync(join(at.directory, 'pki', 'ca.crt')),
      cert: agent.certificate,
      key: agent.key.export({ type: 'pkcs8', format: 'pem' }) as string,
    };
    const tunnel = await answerTunnel(await dialTunnel({ url: at.url, tls, signal: forever }), {
      handle: (request) => {
        if (request.path === heartbeatsPath) resolve(new HeartbeatSender(request.respond(200)));
        else request.respond(404).end();
      },
    });
    return { tunnel, sender: await promise };
  }

  test('renews the Lease of a node as a request of its agent would', async () => {
    const agent = await enrolled(server, 'a');
    let version = await createLease(agent);
    const { tunnel, sender } = await connect(agent);
    for (const holder of ['run-1', 'run-2']) {
      const answer = await sender.send(beatOf(version, holder), forever);
      expect(Number(answer)).toBeGreaterThan(Number(version));
      version = answer!;
      expect(await leaseOf('a')).toMatchObject({
        metadata: {
          resourceVersion: version,
          managedFields: expect.arrayContaining([expect.objectContaining({ manager: 'capstan-node-agent', operation: 'Update' })]),
        },
        spec: { holderIdentity: holder, leaseDurationSeconds: 40, renewTime: '2023-11-14T22:13:20.123000Z', leaseTransitions: 3 },
      });
    }
    const { text } = await server.call('/metrics');
    expect(text).toContain('capstan_node_heartbeats_total{result="renewed"} 2');
    expect(text).toMatch(/^capstan_node_tunnel_streams 0$/m);
    tunnel.destroy();
  });

  test('renews no Lease that somebody else has renewed, or that does not exist', async () => {
    const agent = await enrolled(server, 'b');
    const { tunnel, sender } = await connect(agent);
    expect(await sender.send(beatOf('7'), forever)).toBeUndefined();
    const version = await createLease(agent);
    const merge = { type: 'application/merge-patch+json', method: 'PATCH', body: { spec: { holderIdentity: 'run-9' } } };
    await callAs(server, agent, `${leasesOf('b')}/b`, merge);
    expect(await sender.send(beatOf(version), forever)).toBeUndefined();
    expect(await leaseOf('b')).toMatchObject({ spec: { holderIdentity: 'run-9' } });
    tunnel.destroy();
  });

  test('renews no Lease of a node that was removed while its heartbeat waited', async () => {
    const agent = await enrolled(server, 'c');
    const version = await createLease(agent);
    const { tunnel, sender } = await connect(agent);
    const refused = expect(sender.send(beatOf(version), forever)).rejects.toThrow('ended');
    await server.call(`${fleetPath}/gpunodes/c`, { method: 'DELETE' });
    await refused;
    await tunnel.closed;
    const lease = await leaseOf('c');
    expect(lease.metadata?.resourceVersion === version || lease['code'] === 404).toBe(true);
  });

  test('lets a tunnel end that another one replaces, although its stream for heartbeats is open', async () => {
    const agent = await enrolled(server, 'd');
    const first = await connect(agent);
    const second = await connect(agent);
    await first.tunnel.closed;
    expect([first.sender.isFree, second.sender.isFree]).toEqual([false, true]);
    await second.tunnel[Symbol.asyncDispose]();
  });

  test('leaves renewals to requests if the audit log records them', async () => {
    await using recording = await startTestServer({ audit: { policy: { ...defaultPolicy, rules: [{ level: 'Metadata' }] } } });
    await createPlatform(recording);
    const agent = await enrolled(recording, 'e');
    const version = await createLease(agent, recording);
    const { tunnel, sender } = await connect(agent, recording);
    expect(await sender.send(beatOf(version), forever)).toBeUndefined();
    expect(await leaseOf('e', recording)).toMatchObject({ metadata: { resourceVersion: version } });
    tunnel.destroy();
  });
});

describe('heartbeats', () => {
  /** The stream of an agent to a server that renews Leases in this way. */
  async function follow(heartbeats: Heartbeats): Promise<HeartbeatSender> {
    const [agent, stream] = duplexPair();
    const tunnel = { ended: new Promise(() => {}), request: async () => ({ status: 200, headers: {}, stream }) } as unknown as Tunnel;
    await heartbeats.follow(tunnel, Buffer.from('certificate'));
    return new HeartbeatSender(agent);
  }

  test('that arrive within a short time are renewed together, some in each turn', async () => {
    let turn = 0;
    const counting = setInterval(() => turn++, 0);
    const turns = new Map<number, number>();
    const heartbeats = new Heartbeats({
      window: 100,
      renew: async (_certificate, { resourceVersion }) => {
        turns.set(turn, (turns.get(turn) ?? 0) + 1);
        return `${resourceVersion}0`;
      },
    });
    const senders = await Promise.all(Array.from({ length: 100 }, () => follow(heartbeats)));
    const answers = await Promise.all(senders.map((sender, index) => sender.send(beatOf(String(index + 1)), forever)));
    clearInterval(counting);
    expect(answers).toEqual(senders.map((_, index) => `${index + 1}0`));
    expect(heartbeats.results.get('renewed')).toBe(100);
    expect(turns.size).toBeLessThanOrEqual(13);
  });

  test('that cannot be renewed are left to requests, and do not hold up others', async () => {
    const heartbeats = new Heartbeats({
      window: 1,
      renew: async (_certificate, { resourceVersion }) => {
        if (resourceVersion === '2') throw new Error('conflict');
        return resourceVersion === '3' ? undefined : '4';
      },
    });
    const senders = await Promise.all([1, 2, 3].map(() => follow(heartbeats)));
    const answers = await Promise.all(senders.map((sender, index) => sender.send(beatOf(String(index + 1)), forever)));
    expect(answers).toEqual(['4', undefined, undefined]);
    expect([...heartbeats.results]).toEqual([
      ['renewed', 1],
      ['left', 2],
    ]);
  });
});
