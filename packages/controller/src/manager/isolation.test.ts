import { setTimeout as sleep } from 'node:timers/promises';
import { startTestServer, type TestServer } from '@capstan/apiserver/testing';
import { Client, connectionOf, loadKubeconfig, type Span, type Tracer, type Transport } from '@capstan/client';
import { Metrics } from '@capstan/machinery';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { controller } from '../controller/builder.ts';
import { Channel } from '../controller/channel.ts';
import { done } from '../controller/result.ts';
import { requestMetrics } from '../metrics/requests.ts';
import { Manager, type ManagerOptions } from './manager.ts';
import type { Runnable } from './runnable.ts';

/** The machine may be busy. */
const patiently = { timeout: 15_000 };

const namespaces = { group: '', version: 'v1', resource: 'namespaces', namespaced: false, kind: 'Namespace' };
const configMaps = { group: '', version: 'v1', resource: 'configmaps', namespaced: true, kind: 'ConfigMap' };
const unknown = { group: 'example.com', version: 'v1', resource: 'unknowns', namespaced: false, kind: 'Unknown' };

let server: TestServer;
let client: Client;

beforeAll(async () => {
  server = await startTestServer();
  client = new Client(connectionOf(loadKubeconfig({ path: server.kubeconfigPath })));
});
afterAll(async () => {
  client[Symbol.dispose]();
  await server[Symbol.asyncDispose]();
});

async function running(
  runnables: readonly Runnable[],
  body: (manager: Manager) => Promise<void>,
  options: Partial<ManagerOptions> = {},
): Promise<void> {
  const manager = new Manager({ client, ...options });
  for (const one of runnables) manager.add(one);
  const stop = new AbortController();
  const ended = manager.run(stop.signal);
  try {
    await body(manager);
  } finally {
    stop.abort();
    await ended;
  }
}

const seeing = (seen: string[]) =>
  controller('seeing')
    .for(namespaces)
    .reconcile(({ key }) => {
      seen.push(key.name);
      return done;
    });

test('starts a runnable that fails again, and leaves the others alone', async () => {
  const seen: string[] = [];
  const log: string[] = [];
  let runs = 0;
  const failing: Runnable = {
    name: 'failing',
    run: async ({ signal }) => {
      if (++runs < 3) throw new Error('no luck');
      await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
    },
  };
  await running([failing, seeing(seen)], () => vi.waitFor(() => expect([runs, seen.includes('default')]).toEqual([3, true]), 5_000), {
    log: (line) => log.push(line),
  });
  expect(log).toEqual(Array.from({ length: 2 }, () => 'failing failed and starts again in 1 s: no luck'));
});

test('does not let a kind that cannot be watched hold up controllers of other kinds, nor an election', async () => {
  const seen: string[] = [];
  const log: string[] = [];
  const waiting = controller('waiting')
    .for(unknown)
    .reconcile(() => done);
  const leaderElection = { namespace: 'kube-system', name: 'isolation' };
  await running(
    [waiting, seeing(seen)],
    async (manager) => {
      await vi.waitFor(() => expect(seen).toContain('default'), 5_000);
      expect(log).toContainEqual(expect.stringMatching(/^unknowns cannot be watched: /));
      const ready = await fetch(`http://127.0.0.1:${manager.healthPort}/readyz`);
      expect([ready.status, await ready.text()]).toEqual([503, 'the first copy of what is watched is not complete yet: waiting\n']);
    },
    { leaderElection, syncWithin: 50, health: { host: '127.0.0.1', port: 0 }, log: (line) => log.push(line) },
  );
});

test('reconciles the objects of events that come through a channel', async () => {
  const channel = new Channel<{ readonly machine: string }>();
  const seen: string[] = [];
  const listening = controller('listening')
    .for(namespaces)
    .receives(channel, ({ machine }) => [{ name: machine }])
    .reconcile(({ key, object }) => {
      seen.push(`${key.name} ${object === undefined ? 'missing' : 'exists'}`);
      return done;
    });
  channel.send({ machine: 'lost' });
  await running([listening], async () => {
    await vi.waitFor(() => expect(seen).toContain('default exists'), patiently);
    seen.length = 0;
    channel.send({ machine: 'default' });
    channel.send({ machine: 'outside' });
    await vi.waitFor(() => expect(seen).toEqual(['default exists', 'outside missing']), patiently);
  });
  expect(seen).not.toContain('lost missing');
});

test('does not reconcile an object again before the copies have what it wrote of other kinds', async () => {
  const channel = new Channel<string>();
  await client.resource(namespaces).create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'one-of-each' } });
  let reconciles = 0;
  const creating = controller('creating')
    .for(namespaces, { fieldSelector: 'metadata.name=one-of-each' })
    .reads((informers) => ({ maps: informers.informer(configMaps, { labelSelector: 'made' }) }))
    .receives(channel, (name) => [{ name }])
    .reconcile(async ({ key, copies, client: own, wrote }) => {
      reconciles++;
      if (copies.maps.list({ namespace: key.name }).length > 0) return done;
      const metadata = { generateName: 'made-', namespace: key.name, labels: { made: '' } };
      // Due again before its write can have arrived.
      channel.send(key.name);
      wrote(await own.resource(configMaps).create({ apiVersion: 'v1', kind: 'ConfigMap', metadata }), configMaps);
      return done;
    });
  using slow = new Client(client.connection, { transport: slowWatches(client) });
  await running(
    [creating],
    async () => {
      await vi.waitFor(() => expect(reconciles).toBeGreaterThan(1), 5_000);
      const { items } = await client.resource(configMaps).in('one-of-each').list({ labelSelector: 'made' });
      expect(items).toHaveLength(1);
    },
    { client: slow },
  );
});

/** Sends what watches report a while later, so that copies are behind. */
function slowWatches(transport: Transport): Transport {
  return {
    async send(outgoing) {
      const answer = await transport.send(outgoing);
      if (!outgoing.path.includes('watch=true')) return answer;
      return {
        code: answer.code,
        header: (name) => answer.header(name),
        read: (idle, onText) => answer.read(idle, (text) => sleep(200).then(() => onText(text))),
        readBytes: (idle, onBytes) => answer.readBytes(idle, onBytes),
        destroy: () => answer.destroy(),
      };
    },
    [Symbol.dispose]() {},
  };
}

test('rejects a write of a kind that it has no copy of', async () => {
  const log: string[] = [];
  const wrong = controller('wrong')
    .for(namespaces, { fieldSelector: 'metadata.name=default' })
    .reconcile(({ object, wrote }) => {
      wrote(object!, configMaps);
      return done;
    });
  await running(
    [wrong],
    () =>
      vi.waitFor(
        () => expect(log[0]).toBe('wrong default: there is no local copy of configmaps to wait for; name it in reads, owns or watches'),
        patiently,
      ),
    { log: (line) => log.push(line) },
  );
});

test('counts active workers and requests, and traces reconciles with their requests', async () => {
  const metrics = new Metrics();
  const spans: { readonly name: string; readonly attributes: object | undefined; error?: unknown; isOver: boolean }[] = [];
  const tracer: Tracer = {
    startActiveSpan(name, { attributes }, work) {
      const record = { name, attributes, isOver: false } as (typeof spans)[number];
      spans.push(record);
      const span: Span = {
        setAttribute: () => span,
        recordException: (error) => (record.error = error),
        setStatus: () => span,
        end: () => (record.isOver = true),
      };
      return work(span);
    },
  };
  using observed = new Client(client.connection, { onRequest: requestMetrics(metrics), tracer });
  const release = Promise.withResolvers<void>();
  const slow = controller('slow')
    .for(namespaces, { fieldSelector: 'metadata.name=default' })
    .reconcile(
      async ({ key, attempt, client: own }) => {
        await own.resource(namespaces).get(key.name);
        if (attempt === 0) throw new Error('once');
        await release.promise;
        return done;
      },
      { concurrency: 2 },
    );
  await running(
    [slow],
    async () => {
      await vi.waitFor(() => expect(metrics.text()).toMatch(/rest_client_requests_total\{code="200",method="GET"\} [3-9]/), patiently);
      await vi.waitFor(() => expect(metrics.text()).toContain('controller_runtime_active_workers{controller="slow"} 1'), patiently);
      expect(metrics.text()).toContain('controller_runtime_max_concurrent_reconciles{controller="slow"} 2');
      expect(metrics.text()).toMatch(/rest_client_request_duration_seconds_count\{verb="GET"\} [3-9]/);
      release.resolve();
      await vi.waitFor(() => expect(metrics.text()).toContain('controller_runtime_active_workers{controller="slow"} 0'), patiently);
    },
    { client: observed, metrics, tracer },
  );
  const reconciles = spans.filter(({ name }) => name === 'reconcile slow');
  expect(reconciles).toMatchObject([
    { attributes: { controller: 'slow', 'object.name': 'default', attempt: 0 }, error: expect.objectContaining({ message: 'once' }) },
    { attributes: { attempt: 1 } },
  ]);
  expect(spans.filter(({ isOver }) => !isOver)).toEqual([]);
  expect(spans).toContainEqual(
    expect.objectContaining({
      name: 'GET',
      attributes: expect.objectContaining({ 'url.path': '/api/v1/namespaces/default', 'http.request.method': 'GET' }),
    }),
  );
});
