import { join, resolve } from 'node:path';
import { exportStore, importStore, openEtcdStore, openSqliteStore, type Store } from '@capstan/store';
import { explain, Failure } from '../failure.ts';
import { defaultDataDirectory } from './options.ts';

export interface SnapshotFlags {
  readonly dataDir?: string;
  readonly etcdEndpoints?: readonly string[];
}

export async function save(file: string, flags: SnapshotFlags): Promise<void> {
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
