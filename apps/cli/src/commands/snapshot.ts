import { join, resolve } from 'node:path';
import { exportStore, importStore, openEtcdStore, openSqliteStore, type Store } from '@capstan/store';
import { explain, Failure } from '../failure.ts';
import { saveFromServer } from './live-snapshot.ts';
import { defaultDataDirectory } from './options.ts';

export interface SnapshotFlags {
  readonly dataDir?: string;
  readonly etcdEndpoints?: readonly string[];
}

export async function save(file: string, flags: SnapshotFlags): Promise<void> {
  const dataDirectory = resolve(flags.dataDir ?? defaultDataDirectory);
  if (flags.etcdEndpoints === undefined && (await isHeld(dataDirectory))) {
    const bytes = await saveFromServer(resolve(file), dataDirectory);
    process.stdout.write(`saved what the running server holds to ${file} (${bytes} bytes)\n`);
    return;
  }
  await withStore(flags, async (store) => {
    const { keys, revision, bytes } = await exportStore(store, resolve(file));
    process.stdout.write(`saved ${keys} objects at revision ${revision} to ${file} (${bytes} bytes)\n`);
  });
}

export async function restore(file: string, flags: SnapshotFlags): Promise<void> {
  await withStore(flags, async (store) => {
    const { keys } = await importStore(store, resolve(file));
    process.stdout.write(`restored ${keys} objects from ${file}\n`);
  });
}

/** True when a server has the store open: then only that server can read it. */
async function isHeld(dataDirectory: string): Promise<boolean> {
  try {
    await using _store = await openSqliteStore({ directory: join(dataDirectory, 'store') });
    return false;
  } catch (error) {
    return isCode(error, 'locked');
  }
}

async function withStore(flags: SnapshotFlags, work: (store: Store) => Promise<void>): Promise<void> {
  const dataDirectory = resolve(flags.dataDir ?? defaultDataDirectory);
  const { etcdEndpoints } = flags;
  try {
    await using store =
      etcdEndpoints === undefined
        ? await openSqliteStore({ directory: join(dataDirectory, 'store') })
        : await openEtcdStore({ endpoints: etcdEndpoints });
    await work(store);
  } catch (error) {
    if (isCode(error, 'exists'))
      throw new Failure('usage', `${(error as Error).message}. Choose another directory with --data-dir.`, error);
    if (isCode(error, 'ENOENT'))
      throw new Failure('usage', `${(error as Error).message}. Give the path of a file that "capstan snapshot save" wrote.`, error);
    throw explain(error, { dataDirectory, host: '', port: 0 });
  }
}

function isCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}
