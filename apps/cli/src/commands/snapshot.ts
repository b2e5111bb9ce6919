import { existsSync, readFileSync } from 'node:fs';
import { appendFile, link, rename, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { checkExport, exportStore, importStore, openEtcdStore, openSqliteStore, type Store, startRevisionsAfter } from '@capstan/store';
import { apiServerShape } from '../config/apiserver.ts';
import { readProcessConfig } from '../config/capstan.ts';
import { explain, Failure } from '../failure.ts';
import { restoreKeys, sealedKeysIn, sealKeys } from '../snapshot/keys.ts';
import { saveFromServer } from './live-snapshot.ts';
import { type ApiServerSettings, settings } from './options.ts';
import { etcdOptions } from './server-options.ts';

export interface SnapshotFlags {
  readonly config?: string;
  readonly dataDir?: string;
  readonly etcdEndpoints?: readonly string[];
  readonly passphraseFile?: string;
  readonly withoutKeys?: boolean;
  /** Overwrites an existing file. */
  readonly force?: boolean;
}

const write = (line: string): void => void process.stdout.write(`${line}\n`);

/** Saves everything to a new file: all objects and, if there is a passphrase, the keys. */
export async function save(file: string, flags: SnapshotFlags): Promise<void> {
  const target = resolve(file);
  if (existsSync(target) && flags.force !== true)
    throw new Failure('usage', `${file} already exists. Name a new file, or overwrite it with --force.`);
  const chosen = settingsOf(flags);
  const pki = join(chosen.dataDirectory, 'pki');
  const passphrase = passphraseIn(flags);
  // Before the objects, which may take long: fail early if the keys cannot be read.
  const sealed = passphrase === undefined ? undefined : sealKeys(pki, passphrase);
  const temporary = `${target}.part`;
  try {
    await saveObjects(temporary, chosen);
    const { keys: objects } = await checkExport(temporary);
    if (sealed !== undefined) await appendFile(temporary, `${sealed}\n`, { flush: true });
    await publish(temporary, target, flags);
    write(`saved ${objects} objects ${sealed === undefined ? '' : 'and the keys in pki/ '}to ${file}`);
  } catch (error) {
    throw explained(error, chosen);
  } finally {
    await rm(temporary, { force: true });
  }
  if (sealed === undefined && flags.withoutKeys !== true)
    write(
      `${pki} is not part of it: without those keys a restored server rejects the tokens, certificates and kubeconfigs of this one. Keep a copy, or name a passphrase with --passphrase-file to include them, encrypted, in the snapshot.`,
    );
}

/** Creates a new store, and the keys beside it, from a file. */
export async function restore(file: string, flags: SnapshotFlags): Promise<void> {
  const source = resolve(file);
  const chosen = settingsOf(flags);
  const pki = join(chosen.dataDirectory, 'pki');
  try {
    // Before anything is written: an invalid file leaves no trace.
    const { revision } = await checkExport(source);
    const sealed = sealedKeysIn(source);
    const passphrase = passphraseIn(flags);
    if (sealed === undefined && passphrase !== undefined)
      throw new Failure('usage', `${file} contains no keys: it was saved without a passphrase. Restore it without --passphrase-file.`);
    if (sealed !== undefined && flags.withoutKeys !== true) {
      if (passphrase === undefined)
        throw new Failure(
          'usage',
          `${file} contains the keys of the installation, encrypted. Name the passphrase with --passphrase-file, or leave them out with --without-keys.`,
        );
      restoreKeys(sealed, passphrase, pki);
    }
    if (chosen.etcdEndpoints === undefined) await startRevisionsAfter(join(chosen.dataDirectory, 'store'), revision + beyondOldRevisions);
    await using store = await openStore(chosen);
    const { keys: objects } = await importStore(store, source);
    write(`restored ${objects} objects from ${file}`);
  } catch (error) {
    throw explained(error, chosen);
  }
  if (!existsSync(pki))
    write(
      `the keys of the old server are not part of it: copy them to ${pki} before you start the new server. Otherwise it creates its own, and rejects the tokens, certificates and kubeconfigs of the old one.`,
    );
}

/**
 * Above every revision that the old server may have reached since: clients that outlive it must not take new versions of objects for those that they have seen.
 */
const beyondOldRevisions = 1_000_000_000;

function settingsOf(flags: SnapshotFlags): ApiServerSettings {
  return settings(flags, flags.config === undefined ? { settings: {} } : readProcessConfig(flags.config, 'apiserver', apiServerShape));
}

async function saveObjects(file: string, chosen: ApiServerSettings): Promise<void> {
  const { dataDirectory, etcdEndpoints } = chosen;
  if (etcdEndpoints === undefined && (await isServed(dataDirectory))) {
    await saveFromServer(file, dataDirectory);
    return;
  }
  await using store = await openStore(chosen);
  await exportStore(store, file);
}

/** True if only a running server can read the objects: it has the store open, or keeps them in etcd. Throws if there is nothing to save. */
async function isServed(dataDirectory: string): Promise<boolean> {
  const directory = join(dataDirectory, 'store');
  if (!existsSync(join(directory, 'store.db'))) {
    if (existsSync(join(dataDirectory, 'admin.kubeconfig'))) return true;
    throw new Failure(
      'usage',
      `${dataDirectory} is not the data directory of a server: it contains neither a store nor a kubeconfig. Name it with --data-dir.`,
    );
  }
  try {
    await using _store = await openSqliteStore({ directory });
    return false;
  } catch (error) {
    if (isCode(error, 'locked')) return true;
    throw error;
  }
}

function openStore({ dataDirectory, etcdEndpoints, file }: ApiServerSettings): Promise<Store> {
  return etcdEndpoints === undefined
    ? openSqliteStore({ directory: join(dataDirectory, 'store') })
    : openEtcdStore(etcdOptions(etcdEndpoints, file.etcd ?? {}));
}

/** Gives the finished file its name. Without --force it never replaces another file, even one created in the meantime. */
async function publish(temporary: string, target: string, { force }: SnapshotFlags): Promise<void> {
  if (force === true) await rename(temporary, target);
  else await link(temporary, target);
}

function passphraseIn({ passphraseFile, withoutKeys }: SnapshotFlags): string | undefined {
  if (passphraseFile === undefined || withoutKeys === true) return undefined;
  let passphrase: string;
  try {
    passphrase = readFileSync(passphraseFile, 'utf8').replace(/\r?\n$/, '');
  } catch (error) {
    throw new Failure('usage', `--passphrase-file: ${(error as Error).message}.`, error);
  }
  if (passphrase === '') throw new Failure('usage', `--passphrase-file: ${passphraseFile} is empty.`);
  return passphrase;
}

function explained(error: unknown, chosen: ApiServerSettings): Failure {
  if (isCode(error, 'exists')) {
    const where =
      chosen.etcdEndpoints === undefined
        ? 'Choose another directory with --data-dir'
        : 'Name an empty etcd, or another etcd.prefix in the configuration file';
    return new Failure('usage', `${(error as Error).message}. ${where}.`, error);
  }
  if (isCode(error, 'damaged')) return new Failure('snapshotDamaged', `${(error as Error).message}.`, error);
  if (isCode(error, 'ENOENT') && !(error instanceof Failure))
    return new Failure('usage', `${(error as Error).message}. Give the path of a file written by "capstan snapshot save".`, error);
  return explain(error, chosen);
}

function isCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}
