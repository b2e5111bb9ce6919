import { setTimeout as sleep } from 'node:timers/promises';
import { startTestServer, type TestServer } from '@capstan/apiserver/testing';
import { Client, connectionOf, loadKubeconfig } from '@capstan/client';
import type { KubeObject } from '@capstan/machinery';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { controller } from '../controller/builder.ts';
import { generationChanged } from '../controller/predicate.ts';
import { done, requeueAfter, TerminalError } from '../controller/result.ts';
import { mapCounts } from '../examples/map-counts.ts';
import { teamNotes } from '../examples/team-notes.ts';
import { addFinalizer, isDeleting, removeFinalizer } from '../objects/finalizers.ts';
import { withController } from '../objects/owners.ts';
import { Manager, type ManagerOptions } from './manager.ts';
import type { Runnable } from './runnable.ts';

const namespaces = { group: '', version: 'v1', resource: 'namespaces', namespaced: false, kind: 'Namespace' };
const configMaps = { group: '', version: 'v1', resource: 'configmaps', namespaced: true, kind: 'ConfigMap' };
const secrets = { group: '', version: 'v1', resource: 'secrets', namespaced: true, kind: 'Secret' };

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

const makeNamespace = (name: string, labels: Record<string, string> = {}) =>
  client.resource(namespaces).create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels } });
const configMap = (namespace: string, name: string): KubeObject => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace } });
const make = (namespace: string, name: string) => client.resource(configMaps).create(configMap(namespace, name));

async function running(
  controllers: readonly Runnable[],
  body: (manager: Manager, stop: () => Promise<void>) => Promise<void>,
  options: Partial<ManagerOptions> = {},
): Promise<void> {
  const manager = new Manager({ client, ...options });
  for (const one of controllers) manager.add(one);
  const abort = new AbortController();
  const ended = manager.run(abort.signal);
  const stop = async (): Promise<void> => {
    abort.abort();
    await ended;
  };
  try {
    await body(manager, stop);
  } finally {
    await stop();
  }
}

test('the first example keeps a note in each namespace of a team, even if somebody deletes or changes it', async () => {
  await makeNamespace('early', { team: 'blue' });
  await running([teamNotes], async () => {
    await makeNamespace('late', { team: 'red' });
    await makeNamespace('nobody');
    const note = async (namespace: string) => (await client.resource(configMaps).get({ namespace, name: 'team' })).data;
    await vi.waitFor(async () => expect(await note('early')).toEqual({ team: 'blue' }), 10_000);
    await vi.waitFor(async () => expect(await note('late')).toEqual({ team: 'red' }), 10_000);
    await client.resource(configMaps).delete({ namespace: 'early', name: 'team' });
    await client.resource(configMaps).patch({ namespace: 'late', name: 'team' }, { type: 'merge', patch: { data: { team: 'wrong' } } });
    await vi.waitFor(async () => expect(await note('early')).toEqual({ team: 'blue' }), 10_000);
    await vi.waitFor(async () => expect(await note('late')).toEqual({ team: 'red' }), 10_000);
    await expect(note('nobody')).rejects.toMatchObject({ code: 404 });
    const events = client.resource({ group: '', version: 'v1', resource: 'events', namespaced: true }).in('default');
    await vi.waitFor(async () => {
      const { items } = await events.list({ fieldSelector: 'involvedObject.name=early,reason=Noted' });
      expect(items).toHaveLength(1);
      expect(items[0]).toMatchObject({ message: 'belongs to blue', source: { component: 'team-notes' } });
      expect(items[0]?.count).toBeGreaterThan(1);
    }, 10_000);
  });
});

test('the second example keeps the number of ConfigMaps in an annotation', async () => {
  await makeNamespace('counted', { team: 'green' });
  const count = async () => (await client.resource(namespaces).get('counted')).metadata.annotations?.['example.com/config-maps'];
  await running([mapCounts], async () => {
    await vi.waitFor(async () => expect(await count()).toBe('0'), 10_000);
    await Promise.all(['a', 'b', 'c'].map((name) => make('counted', name)));
    await vi.waitFor(async () => expect(await count()).toBe('3'), 10_000);
    await client.resource(configMaps).in('counted').delete('b');
    await vi.waitFor(async () => expect(await count()).toBe('2'), 10_000);
  });
});

describe('results', () => {
  test('retries an error but not a terminal one, and reconciles again when asked to', async () => {
    await makeNamespace('results');
    const attempts = new Map<string, number[]>();
    const errors: string[] = [];
    const one = controller('results')
      .for(configMaps, { namespace: 'results' })
      .reconcile(
        ({ key, attempt }) => {
          const seen = attempts.get(key.name) ?? [];
          attempts.set(key.name, [...seen, attempt]);
          if (key.name === 'throws' && seen.length < 3) throw new Error('oops');
          if (key.name === 'rejects' && seen.length < 1) return Promise.reject(new Error('late oops'));
          if (key.name === 'terminal') throw new TerminalError('hopeless');
          if (key.name === 'again' && seen.length < 2) return requeueAfter(5);
          return done;
        },
        { concurrency: 4 },
      );
    for (const name of ['throws', 'rejects', 'terminal', 'again', 'fine']) await make('results', name);
    await running(
      [one],
      async () => {
        await vi.waitFor(() => {
          expect(attempts.get('throws')).toEqual([0, 1, 2, 3]);
          expect(attempts.get('rejects')).toEqual([0, 1]);
          expect(attempts.get('again')).toEqual([0, 0, 0]);
          expect(attempts.get('fine')).toEqual([0]);
        }, 10_000);
        expect(attempts.get('terminal')).toEqual([0]);
        expect(errors).toContain('results results/terminal: hopeless');
      },
      { log: (line) => void errors.push(line) },
    );
  });

  test('aborts and retries a reconcile that takes too long', async () => {
    await makeNamespace('slow');
    await make('slow', 'a');
    let calls = 0;
    const one = controller('slow')
      .for(configMaps, { namespace: 'slow' })
      .reconcile(
        async ({ signal }) => {
          if (calls++ === 0) await sleep(600_000, undefined, { signal });
          return done;
        },
        { timeout: 50 },
      );
    await running([one], async () => {
      await vi.waitFor(() => expect(calls).toBe(2), 10_000);
    });
  });
});

test('reads local copies of other kinds, with the indexes that it adds', async () => {
  await makeNamespace('reading');
  const seen = new Map<string, string[]>();
  const one = controller('reading')
    .for(configMaps, { namespace: 'reading' })
    .reads((informers) => {
      const copies = informers.informer(secrets, { namespace: 'reading' });
      copies.addIndex('about', ({ metadata }) => [metadata.labels?.about ?? '']);
      return { about: (name: string) => copies.byIndex('about', name).map(({ metadata }) => metadata.name ?? '') };
    })
    .watches(
      secrets,
      ({ metadata }, copies) =>
        copies.about(metadata.labels?.about ?? '').map(() => ({ namespace: 'reading', name: metadata.labels?.about ?? '' })),
      { namespace: 'reading' },
    )
    .reconcile(({ key, copies }) => {
      seen.set(key.name, copies.about(key.name));
      return done;
    });
  await make('reading', 'a');
  await running([one], async () => {
    await vi.waitFor(() => expect(seen.get('a')).toEqual([]), 10_000);
    const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 's', namespace: 'reading', labels: { about: 'a' } } };
    await client.resource(secrets).create(secret);
    await vi.waitFor(() => expect(seen.get('a')).toEqual(['s']), 10_000);
  });
});

test('never reconciles from the state before its own write, even if a predicate drops that write', async () => {
  await makeNamespace('own-writes');
  const seen: number[] = [];
  const one = controller('own-writes')
    .for(configMaps, { namespace: 'own-writes', predicate: ({ type }) => type === 'added' })
    .reconcile(async ({ key, object, client: mine, wrote }) => {
      const count = Number((object?.data as { count?: string } | undefined)?.count ?? 0);
      seen.push(count);
      if (count >= 5) return done;
      wrote(await mine.resource(configMaps).patch(key as { name: string }, { type: 'merge', patch: { data: { count: `${count + 1}` } } }));
      return requeueAfter(0);
    });
  await make('own-writes', 'a');
  await running([one], () => vi.waitFor(() => expect(seen).toEqual([0, 1, 2, 3, 4, 5]), 10_000));
});

test('retries a conflict without reporting it, and stops when the object is gone', async () => {
  await makeNamespace('outdated');
  const lines: string[] = [];
  const calls: string[] = [];
  const one = controller('outdated')
    .for(configMaps, { namespace: 'outdated', predicate: ({ type }) => type === 'added' })
    .reconcile(async ({ key, object, client: mine }) => {
      const maps = mine.resource(configMaps).in('outdated');
      calls.push(key.name);
      if (key.name === 'gone') {
        await maps.delete('gone');
        await maps.patch('gone', { type: 'merge', patch: { data: {} } });
      }
      if (key.name === 'conflict' && calls.length < 3)
        await maps.update({ ...object!, metadata: { ...object!.metadata, resourceVersion: '1' } });
      return done;
    });
  await running(
    [one],
    async () => {
      await make('outdated', 'conflict');
      await vi.waitFor(() => expect(calls).toEqual(['conflict', 'conflict', 'conflict']), 10_000);
      await make('outdated', 'gone');
      await vi.waitFor(() => expect(calls.at(-1)).toBe('gone'), 10_000);
      await make('outdated', 'last');
      await vi.waitFor(() => expect(calls.slice(3)).toEqual(['gone', 'last']), 10_000);
      expect(lines).toEqual([]);
    },
    { log: (line) => void lines.push(line) },
  );
});

test('never reconciles an object twice at the same time, and never misses the last change', async () => {
  await makeNamespace('busy');
  const now = new Set<string>();
  const seen = new Map<string, unknown>();
  const one = controller('busy')
    .for(configMaps, { namespace: 'busy' })
    .reconcile(
      async ({ key, object }) => {
        expect(now.has(key.name)).toBe(false);
        now.add(key.name);
        await sleep(3);
        now.delete(key.name);
        seen.set(key.name, object?.data);
        return done;
      },
      { concurrency: 8 },
    );
  await running([one], async () => {
    const maps = client.resource(configMaps).in('busy');
    await Promise.all(['a', 'b', 'c'].map((name) => make('busy', name)));
    for (let round = 1; round <= 10; round++) {
      await Promise.all(['a', 'b', 'c'].map((name) => maps.patch(name, { type: 'merge', patch: { data: { round: `${round}` } } })));
    }
    await vi.waitFor(() => expect([...seen.values()]).toEqual([{ round: '10' }, { round: '10' }, { round: '10' }]), 10_000);
  });
});

test('reconciles the objects that a watched object refers to, before and after its change', async () => {
  await makeNamespace('mapped');
  const looked: string[] = [];
  const one = controller('mapped')
    .for(configMaps, { namespace: 'mapped', predicate: generationChanged })
    .watches(secrets, ({ metadata }) => [{ namespace: 'mapped', name: metadata.labels?.about ?? '' }], { namespace: 'mapped' })
    .reconcile(({ key, object }) => {
      if (object !== undefined) looked.push(key.name);
      return done;
    });
  await make('mapped', 'a');
  await make('mapped', 'b');
  await running([one], async () => {
    await vi.waitFor(() => expect(looked.toSorted((x, y) => x.localeCompare(y))).toEqual(['a', 'b']), 10_000);
    const all = client.resource(secrets).in('mapped');
    await all.create({ apiVersion: 'v1', kind: 'Secret', metadata: { name: 's', namespace: 'mapped', labels: { about: 'a' } } });
    await vi.waitFor(() => expect(looked.slice(2)).toEqual(['a']), 10_000);
    await all.patch('s', { type: 'merge', patch: { metadata: { labels: { about: 'b' } } } });
    await vi.waitFor(() => expect(looked.slice(3).toSorted((x, y) => x.localeCompare(y))).toEqual(['a', 'b']), 10_000);
  });
});

test('keeps an object with a finalizer until its work is done', async () => {
  await makeNamespace('held');
  const log: string[] = [];
  const one = controller('held')
    .for(configMaps, { namespace: 'held' })
    .reconcile(async ({ object, client: mine }) => {
      const maps = mine.resource(configMaps);
      if (object === undefined) {
        log.push('gone');
      } else if (isDeleting(object)) {
        log.push('cleaned up');
        await removeFinalizer(maps, object, 'example.com/held');
      } else {
        await addFinalizer(maps, object, 'example.com/held');
      }
      return done;
    });
  await running([one], async () => {
    await make('held', 'a');
    const maps = client.resource(configMaps).in('held');
    await vi.waitFor(async () => expect((await maps.get('a')).metadata.finalizers).toEqual(['example.com/held']), 10_000);
    await maps.delete('a');
    await vi.waitFor(() => expect(log).toEqual(['cleaned up', 'gone']), 10_000);
  });
});

test('reconciles an owner when an object changes that it owns', async () => {
  await makeNamespace('owned');
  const looked: string[] = [];
  const one = controller('owned')
    .for(configMaps, { namespace: 'owned', labelSelector: 'owner' })
    .owns(secrets, { namespace: 'owned' })
    .reconcile(({ key }) => {
      looked.push(key.name);
      return done;
    });
  const owner = await client
    .resource(configMaps)
    .create({ ...configMap('owned', 'o'), metadata: { name: 'o', namespace: 'owned', labels: { owner: '' } } });
  await running([one], async () => {
    await vi.waitFor(() => expect(looked).toEqual(['o']), 10_000);
    const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 's', namespace: 'owned' } };
    await client.resource(secrets).create(withController(secret, owner));
    await vi.waitFor(() => expect(looked).toEqual(['o', 'o']), 10_000);
  });
});

describe('a manager', () => {
  const idle = () =>
    controller('idle')
      .for(configMaps, { namespace: 'default' })
      .reconcile(() => done);
  const ask = async (manager: Manager, path: string) => {
    const answer = await fetch(`http://127.0.0.1:${manager.healthPort}${path}`);
    return { code: answer.status, text: await answer.text() };
  };

  test('serves its health and its metrics', async () => {
    await running(
      [idle()],
      async (manager) => {
        await vi.waitFor(async () => expect((await ask(manager, '/readyz')).code).toBe(200), 10_000);
        expect((await ask(manager, '/livez')).code).toBe(200);
        expect((await ask(manager, '/other')).code).toBe(404);
        await vi.waitFor(async () => expect((await ask(manager, '/metrics')).text).toContain('workqueue_depth{name="idle"} 0'), 10_000);
      },
      { health: { host: '127.0.0.1', port: 0 } },
    );
  });

  test('is not ready while it cannot reach the server', async () => {
    using nowhere = new Client({ ...client.connection, server: 'https://127.0.0.1:1' });
    await running(
      [idle()],
      async (manager) => {
        await vi.waitFor(async () => expect((await ask(manager, '/readyz')).code).toBe(503), 10_000);
        expect((await ask(manager, '/livez')).code).toBe(200);
      },
      { client: nowhere, health: { host: '127.0.0.1', port: 0 } },
    );
  });

  test('lets running reconciles end when it is stopped', async () => {
    await makeNamespace('graceful');
    await make('graceful', 'a');
    const log: string[] = [];
    const one = controller('graceful')
      .for(configMaps, { namespace: 'graceful' })
      .reconcile(async ({ signal }) => {
        log.push('begun');
        await sleep(200, undefined, { signal });
        log.push('ended');
        return done;
      });
    await running([one], async (_manager, stop) => {
      await vi.waitFor(() => expect(log).toEqual(['begun']), 10_000);
      await stop();
      expect(log).toEqual(['begun', 'ended']);
    });
  });

  test('drops reconciles that do not end in time', async () => {
    await makeNamespace('stubborn');
    await make('stubborn', 'a');
    const lines: string[] = [];
    let begun = false;
    const one = controller('stubborn')
      .for(configMaps, { namespace: 'stubborn' })
      .reconcile(() => {
        begun = true;
        return new Promise<never>(() => {});
      });
    await running(
      [one],
      async (_manager, stop) => {
        await vi.waitFor(() => expect(begun).toBe(true), 10_000);
        await stop();
        expect(lines).toEqual(['some reconciles did not end within 50 ms and were dropped']);
      },
      { stopWithin: 50, log: (line) => void lines.push(line) },
    );
  });

  test('lets one of two processes with the same lease work, and the other once it ends', async () => {
    await makeNamespace('elected');
    await make('elected', 'a');
    const log: string[] = [];
    const reconciled: string[] = [];
    const by = (name: string) =>
      controller('elected')
        .for(configMaps, { namespace: 'elected' })
        .reconcile(async ({ client: mine, key }) => {
          reconciled.push(key.name);
          await mine.resource(configMaps).patch({ namespace: 'elected', name: 'a' }, { type: 'merge', patch: { data: { by: name } } });
          if (log.at(-1) !== name) log.push(name);
          return done;
        });
    const leaderElection = { namespace: 'default', name: 'elected', retryPeriod: 100 };
    const patiently = 20_000;
    const lines: string[] = [];
    await running(
      [by('first')],
      async (_first, stopFirst) => {
        await vi.waitFor(() => expect(log).toEqual(['first']), patiently);
        await running(
          [by('second')],
          async () => {
            // Its copies are complete when it asks for the lease, so that it would work if it did not wait.
            await vi.waitFor(() => expect(lines).toEqual(['lease default/elected: waiting, held by the-first']), patiently);
            for (const name of ['b', 'c', 'd']) {
              await make('elected', name);
              await vi.waitFor(() => expect(reconciled).toContain(name), patiently);
            }
            expect(log).toEqual(['first']);
            expect(lines).toHaveLength(1);
            await stopFirst();
            await vi.waitFor(() => expect(log).toEqual(['first', 'second']), patiently);
          },
          { leaderElection, log: (line) => void lines.push(line) },
        );
      },
      { leaderElection: { ...leaderElection, identity: 'the-first' } },
    );
  });

  test('runs anything with a name and a loop, with the client that it was added with', async () => {
    const impersonate = { user: 'system:serviceaccount:kube-system:loop' };
    using other = new Client({ ...client.connection, impersonate });
    const asked = Promise.withResolvers<unknown>();
    const loop: Runnable = {
      name: 'loop',
      async run({ client: mine, signal }) {
        asked.resolve(
          await mine
            .resource(configMaps)
            .in('default')
            .list({ signal })
            .catch((error: unknown) => error),
        );
      },
    };
    const abort = new AbortController();
    const ended = new Manager({ client }).add(loop, { client: other }).run(abort.signal);
    expect(await asked.promise).toMatchObject({ code: 403, message: expect.stringContaining(impersonate.user) });
    abort.abort();
    await ended;
  });

  test('rejects two controllers with the same name', () => {
    expect(() => new Manager({ client }).add(idle()).add(idle())).toThrow('there is a controller "idle" already');
  });
});
