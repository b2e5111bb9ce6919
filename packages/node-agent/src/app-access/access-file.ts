import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type AppAccessFile, appAccessDirectory } from '@capstan/api';
import { isObject } from '@capstan/machinery';

/** UIDs of instances are parts of paths. */
const uid = /^[A-Za-z0-9-]{1,64}$/;

/** How an instance of an app is used on this node, as the steps of its adapter have left it; undefined if this node has no part in it. */
export async function readAccess(instance: string, directory: string = appAccessDirectory): Promise<AppAccessFile | undefined> {
  if (!uid.test(instance)) return undefined;
  try {
    return parseAccess(await readFile(join(directory, instance, 'access.json'), 'utf8'));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Throws if the text is not of this form. */
export function parseAccess(text: string): AppAccessFile {
  const value: unknown = JSON.parse(text);
  if (!isObject(value)) throw new Error('expected an object in access.json');
  const { port, address, authorityFile, certificateFile, keyFile, shell, accounts } = value as Record<keyof AppAccessFile, unknown>;
  const isPort = port === undefined || (Number.isInteger(port) && (port as number) > 0 && (port as number) < 65_536);
  const areTexts = [address, authorityFile, certificateFile, keyFile].every((one) => one === undefined || typeof one === 'string');
  const areAccounts = accounts === undefined || (isObject(accounts) && Object.values(accounts).every((one) => typeof one === 'string'));
  if (!isPort || !areTexts || !areAccounts || (shell !== undefined && typeof shell !== 'boolean'))
    throw new Error('expected {port, address, authorityFile, certificateFile, keyFile, shell, accounts} in access.json');
  return value as AppAccessFile;
}
