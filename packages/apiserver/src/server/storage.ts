import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ensurePki, type Pki } from '@capstan/pki';
import { makeDirectory, openEtcdStore, openSqliteStore, type Store, StoreError } from '@capstan/store';
import { WatchCache } from '../cache/watch-cache.ts';
import { Journal } from '../journal/journal.ts';
import { certificateOptions } from '../presence/announce.ts';
import { installationOf } from '../presence/installation.ts';
import { formerAuthority, refuseOtherInstallation } from '../presence/others.ts';
import { Quarantine } from '../registry/quarantine.ts';
import { WatchHub } from '../watch/hub.ts';
import { LivePki } from './live-pki.ts';
import type { Lifetime, ServerOptions } from './options.ts';

/** Keys and objects, and those who are told of changes. */
export interface Storage {
  readonly pki: LivePki;
  readonly store: Store;
  readonly cache: WatchCache;
  readonly hub: WatchHub;
  readonly journal: Journal;
  readonly quarantine: Quarantine;
}

/** Opens the data directory and the store, and loads every object into the watch cache. */
export async function openStorage(options: ServerOptions, { resources, now }: Lifetime): Promise<Storage> {
  makeDirectory(resolve(options.dataDirectory));
  const [pki, store] = await Promise.all([ensurePki(join(options.dataDirectory, 'pki'), certificateOptions(options)), openStore(options)]);
  resources.use(store);
  const followers: { endAll(): void }[] = [];
  const cache = await WatchCache.load({
    store,
    onLost: (error) => {
      options.log(`the store's watch ended: ${error.message}; reading everything again`);
      for (const follower of followers) follower.endAll();
    },
  });
  resources.use(cache);
  checkInstallation(options, { pki, cache, now: now() });
  const hub = resources.use(new WatchHub(cache));
  const journal = resources.use(new Journal(cache));
  followers.push(hub, journal);
  const quarantine = resources.use(Quarantine.open(resolve(options.dataDirectory), { now, log: options.log }));
  return { pki: new LivePki(pki), store, cache, hub, journal, quarantine };
}

/** In milliseconds, between two attempts to open a store that is in use. */
const storeInterval = 100;

async function openStore({ etcd, dataDirectory, storePatience = 0, signal, log }: ServerOptions): Promise<Store> {
  if (etcd !== undefined) return openEtcdStore(etcd);
  const until = performance.now() + storePatience;
  for (let attempt = 0; ; attempt++) {
    try {
      return await openSqliteStore({ directory: join(dataDirectory, 'store') });
    } catch (error) {
      if (!(error instanceof StoreError && error.code === 'locked') || performance.now() >= until) throw error;
      if (attempt === 0) log(`waiting up to ${Math.ceil(storePatience / 1_000)} s for the store: ${error.message}`);
      await sleep(storeInterval, undefined, { ...(signal && { signal }) });
    }
  }
}

/** Only one server at a time can use a SQLite store, so that any other server with other keys is gone. */
function checkInstallation(options: ServerOptions, { pki, cache, now }: { pki: Pki; cache: WatchCache; now: Date }): void {
  const comparison = { objects: cache, installation: installationOf(pki), pkiDirectory: pki.directory, now };
  if (options.etcd !== undefined) refuseOtherInstallation(comparison);
  const warning = formerAuthority(comparison);
  if (warning !== undefined) options.log(warning);
}
