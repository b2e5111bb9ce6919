import fc from 'fast-check';
import { expect, test } from 'vitest';
import { CacheEntry } from '../cache/entry.ts';
import { type CacheEvent, EventRing } from '../cache/event-ring.ts';
import { ResourceCache } from '../cache/watch-cache.ts';
import type { AnswerStream } from '../http/exchange.ts';
import { builtinCatalog } from '../registry/catalog.ts';
import type { Shaper } from '../registry/shape.ts';
import { Allowance } from './allowance.ts';
import { Audience } from './audience.ts';
import { WatchStream } from './stream.ts';
import { View } from './view.ts';

const resource = builtinCatalog().resource('', 'v1', 'configmaps')!;

/** Records what it receives, and can pretend that the client does not read. */
class Client implements AnswerStream {
  text = '';
  pending = 0;
  #drained: (() => void)[] = [];
  reads = true;
  write = (chunk: string | Buffer): void => {
    this.text += String(chunk);
    if (!this.reads) this.pending += chunk.length;
  };
  end(): void {}
  abort(): void {}
  onDrain = (listener: () => void): void => void this.#drained.push(listener);

  /** The revisions it received. */
  get seen(): number[] {
    return this.#objects.map(({ revision }) => revision);
  }

  /** The names of the objects that it received. */
  get names(): string[] {
    return this.#objects.map(({ name }) => name);
  }

  get #objects(): { revision: number; name: string }[] {
    const lines = this.text.split('\n').filter((line) => line !== '');
    return lines.map((line) => (JSON.parse(line) as { object: { revision: number; name: string } }).object);
  }

  read(): void {
    this.reads = true;
    this.pending = 0;
    const waiting = this.#drained;
    this.#drained = [];
    for (const listener of waiting) listener();
  }
}

function stage(options: { maxEvents?: number; shape?: string; padding?: number } = {}) {
  const ring = new EventRing({ after: 0, maxEvents: options.maxEvents ?? 1000, maxBytes: 1 << 20 });
  const cache = new ResourceCache('core/configmaps', ring);
  const audience = new Audience();
  let revision = 0;
  const turns: (() => void)[] = [];
  const allowance = new Allowance(8 << 20);
  const shaper: Shaper = {
    key: options.shape ?? 'object',
    one: () => '',
    list: () => '',
    pieces: () => [],
    watched: (entry) => `{"revision":${entry.revision},"name":"${entry.key.split('/').at(-1)}"}${' '.repeat(options.padding ?? 0)}`,
  };
  const made = (key: string, at: number): CacheEvent => {
    const entry = new CacheEntry(key, `{}${' '.repeat(options.padding ?? 0)}`, at);
    return { type: 'ADDED', revision: at, entry, previous: undefined };
  };
  const publish = (events: readonly CacheEvent[]): void => {
    for (const event of events) ring.push(event);
    audience.changed(events);
  };
  return {
    audience,
    watch: (prefix: string, initial: readonly CacheEntry[] = []): Client => {
      const client = new Client();
      const view = new View({
        resource,
        shaper,
        filter: { prefix, selects: undefined, through: [], key: prefix },
        key: prefix,
        allowance,
      });
      const group = audience.group(prefix, prefix, () => view);
      const member = new WatchStream({
        stream: client,
        view: group.view,
        source: { cache, revision: () => revision, history: () => Promise.resolve(undefined) },
        after: revision,
        bookmarks: false,
        onDone: () => {},
        inTurn: (work) => void turns.push(work),
      });
      group.streams.add(member);
      member.startWith(initial, undefined);
      return client;
    },
    commit: (...keys: string[]): void => publish(keys.map((key) => made(key, ++revision))),
    /** As when a program other than ours deletes many keys of etcd at once: some of them get the same revision. */
    commitAsOne: (...keys: string[]): void => {
      revision++;
      publish(keys.map((key) => made(key, revision)));
    },
    /** Gives turns to those who wait, until nobody does. */
    settle: (): void => {
      for (let work = turns.shift(); work !== undefined; work = turns.shift()) work();
    },
  };
}

const clusters = fc.constantFrom('a', 'b', 'ab');
const namespaces = fc.constantFrom('', 'x', 'y', 'xy');
const keys = fc.tuple(clusters, namespaces).map(([cluster, namespace]) => `${cluster}/${namespace}/name`);
const places = fc.oneof(
  fc.constant(''),
  clusters.map((cluster) => `${cluster}/`),
  fc.tuple(clusters, namespaces).map(([cluster, namespace]) => `${cluster}/${namespace}/`),
);

test('every watcher receives exactly the events of its own scope, in order', () => {
  const batches = fc.array(fc.array(keys, { minLength: 1, maxLength: 6 }), { maxLength: 10 });
  fc.assert(
    fc.property(fc.array(places, { maxLength: 12 }), batches, (watched, commits) => {
      const { watch, commit } = stage();
      const clients = watched.map((place) => ({ place, client: watch(place) }));
      for (const batch of commits) commit(...batch);
      const all = commits.flat().map((key, at) => ({ key, revision: at + 1 }));
      for (const { place, client } of clients) {
        expect(client.seen).toEqual(all.filter(({ key }) => key.startsWith(place)).map(({ revision }) => revision));
      }
    }),
  );
});

for (const shape of ['object', 'table']) {
  test(`a client that stopped reading resumes where it left off, however much happened elsewhere meanwhile (${shape})`, () => {
    const { watch, commit, settle } = stage({ maxEvents: 5, shape });
    const client = watch('a/');
    commit('a/x/one');
    for (let at = 0; at < 20; at++) commit('b/x/other');
    client.pending = 1 << 30;
    commit('a/x/two', 'b/x/other');
    commit('a/x/three');
    client.read();
    settle();
    commit('a/x/four');
    expect(client.seen).toEqual([1, 22, 24, 25]);
  });
}

test('a client that read only part of a table resumes there, whatever happens before it reads on', () => {
  const { watch, commit, settle } = stage({ shape: 'table', padding: 300_000 });
  const client = watch('a/');
  client.reads = false;
  commit(...Array.from({ length: 30 }, (_, at) => `a/x/${at}`));
  settle();
  expect(client.seen.length).toBeLessThan(30);
  // The client has read a little, but has not drained yet.
  client.pending = 1 << 20;
  commit('a/x/later');
  client.read();
  settle();
  expect(client.seen).toEqual(Array.from({ length: 31 }, (_, at) => at + 1));
});

for (const shape of ['object', 'table']) {
  test(`a large event reaches many watchers in several turns, each exactly once and in order (${shape})`, () => {
    const { watch, commit, settle } = stage({ padding: 1 << 20, shape });
    const clients = Array.from({ length: 40 }, () => watch('a/'));
    commit('a/x/large');
    expect(clients.filter(({ seen }) => seen.length > 0).length).toBeLessThan(20);
    commit('a/x/next');
    settle();
    for (const { seen } of clients) expect(seen).toEqual([1, 2]);
  });
}

for (const shape of ['object', 'table']) {
  test(`events that share a revision reach every client once, even one that reads only some of them (${shape})`, () => {
    const { watch, commit, commitAsOne, settle } = stage({ shape, padding: 300_000 });
    const [quick, slow] = [watch('a/'), watch('a/')];
    slow.reads = false;
    slow.pending = 2 << 20;
    const names = Array.from({ length: 12 }, (_, at) => `${at}`);
    const key = (name: string): string => `a/x/${name}`;
    commitAsOne(...names.slice(0, 5).map(key));
    commitAsOne(...names.slice(5, 10).map(key));
    settle();
    commit(...names.slice(10).map(key));
    expect(slow.names).toEqual([]);
    slow.read();
    settle();
    expect(quick.names).toEqual(names);
    expect(slow.names).toEqual(names);
  });
}

test('a client of a table that stops reading between events that share a revision receives the others later', () => {
  const { watch, commitAsOne, settle } = stage({ shape: 'table', padding: 300_000 });
  const client = watch('a/');
  client.reads = false;
  const names = Array.from({ length: 30 }, (_, at) => `${at}`);
  for (let at = 0; at < names.length; at += 3) commitAsOne(...names.slice(at, at + 3).map((name) => `a/x/${name}`));
  settle();
  expect(client.names.length).toBeLessThan(names.length);
  client.read();
  settle();
  expect(client.names).toEqual(names);
});

test('a large event reaches watchers with views of their own in several turns', () => {
  const { watch, commit, settle } = stage({ padding: 1 << 20 });
  const clients = ['', 'a/', 'a/x/', 'a/y/'].flatMap((place) => Array.from({ length: 4 }, () => watch(place)));
  commit('a/x/large', 'a/y/large');
  expect(clients.filter(({ seen }) => seen.length > 0).length).toBeLessThan(9);
  settle();
  expect(clients.map(({ seen }) => seen.length)).toEqual([2, 2, 2, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1]);
});

test('keeps nothing of groups that were removed', () => {
  const { audience, watch } = stage();
  watch('a/');
  watch('b/x/');
  for (const group of [...audience.below('')]) audience.remove(group);
  expect([...audience.below('')]).toEqual([]);
});

test('finds groups by their scope', () => {
  const { audience, watch } = stage();
  for (const place of ['', 'a/', 'a/x/', 'ab/', 'b/']) watch(place);
  expect([...audience.below('a/')].map(({ view }) => view.prefix)).toEqual(['a/', 'a/x/']);
});

test('the objects that exist when a watch starts are sent a portion in each turn', () => {
  const { watch, settle } = stage({ padding: 300_000 });
  const initial = Array.from({ length: 10 }, (_, at) => new CacheEntry(`a/x/${at}`, '{}', at + 1));
  const client = watch('a/', initial);
  expect(client.seen).toEqual([1, 2]);
  settle();
  expect(client.seen).toEqual(initial.map(({ revision }) => revision));
});
