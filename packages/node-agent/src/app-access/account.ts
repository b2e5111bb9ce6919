import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { AppAccessFile } from '@capstan/api';

const execute = promisify(execFile);

/** A Unix account that users may act as. */
export interface Account {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
}

const accountName = /^[a-z_][a-z0-9_-]{0,31}$/;
/** Accounts below belong to the system; so does nobody. */
const firstUid = 1000;
const nobody = 65_534;

/**
 * The name of the account of a user: the one that the adapter has given it, or that of the same name. Nothing is guessed from parts of a name: two users must never share an account
 * by accident.
 */
export function accountNameOf(user: string, { accounts = {} }: AppAccessFile): string | undefined {
  const name = Object.hasOwn(accounts, user) ? accounts[user]! : user;
  return accountName.test(name) ? name : undefined;
}

/** Reads a line of `getent passwd`. Undefined if nobody may act as the account. */
export function parseAccount(line: string, name: string): Account | undefined {
  const [found, , uid = '', gid = ''] = line.trim().split(':');
  if (found !== name || !/^\d{1,10}$/.test(uid) || !/^\d{1,10}$/.test(gid)) return undefined;
  const account = { name, uid: Number(uid), gid: Number(gid) };
  return account.uid >= firstUid && account.uid !== nobody ? account : undefined;
}

/** Looks an account up, also in directories such as LDAP. Undefined if there is none, or nobody may act as it. */
export async function findAccount(name: string): Promise<Account | undefined> {
  const line = await execute('getent', ['passwd', name], { timeout: 10_000 }).then(
    ({ stdout }) => stdout,
    () => '',
  );
  return parseAccount(line, name);
}
