import { chmod, rename, rm, writeFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Credentials } from '@capstan/client';

export interface TokenFileOptions {
  readonly credentials: Credentials;
  readonly path: string;
  readonly signal: AbortSignal;
  readonly log: (line: string) => void;
  /** In milliseconds: time between two looks at the token, which is renewed long before its end. */
  readonly every?: number;
}

/** Keeps a current token of an account in a file that only this user can read, for another process of the same machine. Deletes it at the end. */
export async function keepTokenFile({ credentials, path, signal, log, every = 60_000 }: TokenFileOptions): Promise<void> {
  let written: string | undefined;
  let problem: string | undefined;
  while (!signal.aborted) {
    try {
      const token = ((await credentials.current()).authorization ?? '').replace(/^Bearer /, '');
      if (token !== written) await replace(path, token);
      written = token;
      problem = undefined;
    } catch (error) {
      const { message } = error as Error;
      if (message !== problem && !signal.aborted) log(`the token in ${path} cannot be renewed: ${message}`);
      problem = message;
    }
    await sleep(problem === undefined ? every : Math.min(every, 1_000), undefined, { signal }).catch(() => {});
  }
  await rm(path, { force: true });
}

/** Readers see the old token or the new one. */
async function replace(path: string, token: string): Promise<void> {
  const draft = `${path}.${process.pid}`;
  await writeFile(draft, `${token}\n`, { mode: 0o600 });
  await chmod(draft, 0o600);
  await rename(draft, path);
}
