import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startTestServer, type TestServer } from '@capstan/apiserver/testing';
import { createPlatform, invite } from '@capstan/apiserver/testing-fleet';
import { certificateFingerprint } from '@capstan/pki';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { type AgentOptions, runAgent } from './agent.ts';

const directory = mkdtempSync(join(tmpdir(), 'capstan-clones-'));
let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
  await createPlatform(server);
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  rmSync(directory, { recursive: true });
});

function run(
  state: string,
  options: Partial<AgentOptions> = {},
): AsyncDisposable & { readonly ended: Promise<unknown>; readonly lines: string[] } {
  const stop = new AbortController();
  const lines: string[] = [];
  const ended = runAgent({
    stateDirectory: join(directory, state),
    handlers: {},
    signal: stop.signal,
    backoff: { base: 10, max: 50 },
    heartbeatInterval: 50,
    log: (line) => void lines.push(line),
    ...options,
  }).then(
    () => undefined,
    (error: unknown) => error,
  );
  return {
    ended,
    lines,
    async [Symbol.asyncDispose]() {
      stop.abort();
      await ended;
    },
  };
}

const lease = (node: string) => server.call(`/clusters/root:platform/apis/coordination.k8s.io/v1/namespaces/node-${node}/leases/${node}`);
const holder = async (node: string): Promise<string> => {
  const spec = (await lease(node)).json()['spec'] as { holderIdentity: string } | undefined;
  return vi.waitFor(() => spec?.holderIdentity ?? expect.fail('no holder'));
};

test('two agents with one identity notice each other and are refused, long before a certificate is due', async () => {
  const authorityHash = certificateFingerprint(readFileSync(join(server.directory, 'pki', 'ca.crt'), 'utf8'));
  {
    await using first = run('one', { join: { server: server.url, token: await invite(server, 'cloned'), authorityHash } });
    await vi.waitFor(() => expect(first.lines.join()).toContain('is open'), 10_000);
  }
  cpSync(join(directory, 'one'), join(directory, 'two'), { recursive: true });
  await using one = run('one');
  await using two = run('two');
  const refused = { code: 'refused', message: expect.stringContaining('two machines have used its identity') };
  expect(await Promise.all([one.ended, two.ended])).toEqual([expect.objectContaining(refused), expect.objectContaining(refused)]);
});

test('an agent that starts again, or whose Lease is deleted, is not taken for two', async () => {
  const authorityHash = certificateFingerprint(readFileSync(join(server.directory, 'pki', 'ca.crt'), 'utf8'));
  const joining = { join: { server: server.url, token: await invite(server, 'alone'), authorityHash } };
  {
    await using first = run('alone', joining);
    await vi.waitFor(async () => expect((await lease('alone')).code).toBe(200), 10_000);
    expect(first.lines.join()).not.toContain('another agent');
  }
  const before = await holder('alone');
  await using again = run('alone');
  await vi.waitFor(async () => expect(await holder('alone')).not.toBe(before), 10_000);
  const path = '/clusters/root:platform/apis/coordination.k8s.io/v1/namespaces/node-alone/leases/alone';
  await server.call(path, { method: 'DELETE' });
  await vi.waitFor(async () => expect((await lease('alone')).code).toBe(200), 10_000);
  expect(again.lines.join()).not.toMatch(/another agent|renewed and/);
});
