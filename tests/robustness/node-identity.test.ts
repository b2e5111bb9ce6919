import { cpSync, readFileSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import type { GPUNode } from '@capstan/api';
import { startTestServer, type TestServer } from '@capstan/apiserver/testing';
import { createPlatform, fleetPath, invite } from '@capstan/apiserver/testing-fleet';
import { certificateFingerprint } from '@capstan/pki';
import { dialTunnel, openTunnel, type Tunnel } from '@capstan/streams';
import { buildCapstan, Child, capstanProgram, freePort, temporaryDirectory } from '@capstan/testbed';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';

await buildCapstan();

/** Agents renew after half of it, in milliseconds. */
const lifetime = 4_000;
const patience = { timeout: 30_000, interval: 50 };
/** The exit code of an agent that is no longer accepted. */
const refused = 14;
const forever = new AbortController().signal;

describe('the identity of nodes', { timeout: 90_000 }, () => {
  const directory = temporaryDirectory('node-identity');
  let server: TestServer;
  beforeAll(async () => {
    const tunnelLimits = { pingInterval: 100, missedPings: 3 };
    server = await startTestServer({ port: await freePort(), nodeCertificateLifetime: lifetime, tunnelLimits });
    await createPlatform(server);
  });
  afterAll(async () => {
    await server[Symbol.asyncDispose]();
    directory[Symbol.dispose]();
  });

  const pem = (name: string): string => readFileSync(`${server.directory}/pki/${name}`, 'utf8');
  const start = (state: string, token?: string): Child => {
    const joining =
      token === undefined ? [] : ['--server', server.url, '--token', token, '--ca-hash', certificateFingerprint(pem('ca.crt'))];
    const command = [capstanProgram, 'node-agent', '--echo', '--state-dir', directory.join(state), ...joining];
    return new Child(`agent in ${state}`, [process.execPath, ...command]);
  };
  const opened = (agent: Child): Promise<void> => agent.waitUntil('the tunnel is open', () => agent.output.includes('is open'));
  const getNode = async (node: string): Promise<GPUNode> => (await server.call(`${fleetPath}/gpunodes/${node}`)).json() as GPUNode;
  const generation = async (node: string): Promise<number> => (await getNode(node)).status?.identity?.generation ?? 0;
  const isLocked = async (node: string): Promise<boolean> => (await getNode(node)).status?.identity?.locked !== undefined;
  const tunnels = async (): Promise<number> => Number(/^capstan_node_tunnels (\d+)/m.exec((await server.call('/metrics')).text)?.[1]);

  /** The way in which another API server reaches nodes. */
  const relay = async (): Promise<Tunnel> => {
    const tls = { ca: pem('ca.crt'), cert: pem('apiserver-client.crt'), key: pem('apiserver-client.key') };
    return openTunnel(await dialTunnel({ url: server.url, tls, signal: forever, path: '/capstan/relay' }));
  };
  const reaches = async (node: string): Promise<boolean> => {
    const tunnel = await relay();
    const { status, stream } = await tunnel.request({ method: 'GET', path: `/nodes/${node}/node/hello`, signal: forever });
    const answer = await text(stream);
    tunnel.destroy();
    return status === 200 && answer === '/hello\n';
  };

  test('a token that is used a second time is refused, and the first machine goes on', async () => {
    const token = await invite(server, 'replayed');
    await using first = start('replayed', token);
    await opened(first);
    await using second = start('replayed-elsewhere', token);
    expect((await second.exited).code).toBe(refused);
    expect(second.output).toContain('the token was used before, with another key');
    expect(await reaches('replayed')).toBe(true);
  });

  test('two machines with one identity are both locked out, until one is enrolled again', async () => {
    const first = start('original', await invite(server, 'cloned'));
    await opened(first);
    await first.stop();
    cpSync(directory.join('original'), directory.join('copy'), { recursive: true });
    await using original = start('original');
    await using copy = start('copy');
    const [one, two] = await Promise.all([original.exited, copy.exited]);
    expect([one.code, two.code]).toEqual([refused, refused]);
    expect(original.output + copy.output).toContain('two machines have used its identity');
    expect(await isLocked('cloned')).toBe(true);
    await using again = start('original', await invite(server, 'cloned', { name: 'join-cloned-again' }));
    await opened(again);
    expect(await isLocked('cloned')).toBe(false);
    expect(await reaches('cloned')).toBe(true);
  });

  test('an agent that is killed again and again, also while it renews, keeps its identity', async () => {
    const token = await invite(server, 'killed');
    const killed = start('killed', token);
    await opened(killed);
    await killed.kill();
    for (let round = 0; round < 4; round++) {
      const agent = start('killed');
      await opened(agent);
      // Until around the time of a renewal.
      await sleep(lifetime / 2 - 600 + round * 200);
      await agent.kill();
    }
    await using last = start('killed');
    await opened(last);
    expect(await isLocked('killed')).toBe(false);
    await vi.waitFor(async () => expect(await reaches('killed')).toBe(true), patience);
    expect(await generation('killed')).toBeGreaterThan(1);
  });

  test('an agent that is suspended loses its tunnel, and comes back, also if its certificate has expired', async () => {
    await using agent = start('paused', await invite(server, 'paused'));
    await opened(agent);
    const before = await tunnels();
    await agent.pause();
    await vi.waitFor(async () => expect(await tunnels()).toBe(before - 1), patience);
    await sleep(lifetime);
    agent.signal('SIGCONT');
    await vi.waitFor(async () => expect(await reaches('paused')).toBe(true), patience);
    expect(await isLocked('paused')).toBe(false);
  });

  test('a server that restarts finds its nodes again', async () => {
    await using agent = start('restarted', await invite(server, 'restarted'));
    await opened(agent);
    await server.restart();
    await vi.waitFor(async () => expect(await reaches('restarted')).toBe(true), patience);
    expect(agent.running).toBe(true);
  });

  test('a node that is removed while a stream is open loses it, and its agent ends', async () => {
    await using agent = start('removed', await invite(server, 'removed'));
    await opened(agent);
    const tunnel = await relay();
    const { stream } = await tunnel.request({ method: 'POST', path: '/nodes/removed/node/echo', signal: forever });
    const ended = new Promise((resolve) => stream.once('close', resolve));
    stream.resume();
    await server.call(`${fleetPath}/gpunodes/removed`, { method: 'DELETE' });
    await ended;
    expect((await agent.exited).code).toBe(refused);
    expect(agent.output).toContain('the GPUNode was deleted');
    tunnel.destroy();
  });

  test('a certificate that expired while the machine was off is renewed', async () => {
    const first = start('asleep', await invite(server, 'asleep'));
    await opened(first);
    await first.stop();
    await sleep(lifetime);
    await using _later = start('asleep');
    await vi.waitFor(async () => expect(await reaches('asleep')).toBe(true), patience);
    expect(await isLocked('asleep')).toBe(false);
  });
});
