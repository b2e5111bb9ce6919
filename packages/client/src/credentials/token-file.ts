import { readFileSync } from 'node:fs';
import type { Credential, Credentials } from './credentials.ts';

/** Kubelets replace mounted tokens well before they expire; other clients also reread them once a minute. */
const rereadAfter = 60_000;

export interface TokenFileOptions {
  readonly path: string;
  /** In milliseconds. */
  readonly now?: () => number;
}

/** A token in a file that is replaced from time to time. A file that is unreadable for a moment does not lose the current token. */
export function tokenFileCredentials({ path, now = Date.now }: TokenFileOptions): Credentials {
  let held: { readonly credential: Credential; readonly readAt: number } | undefined;
  return {
    current() {
      const at = now();
      if (held !== undefined && at - held.readAt < rereadAfter && at >= held.readAt) return held.credential;
      try {
        const token = readFileSync(path, 'utf8').trim();
        if (token === '') throw new Error(`expected a token in ${path}, but the file is empty`);
        held = { credential: { authorization: `Bearer ${token}` }, readAt: at };
      } catch (error) {
        if (held === undefined)
          throw new Error(`cannot read the token file ${path}; check that it exists and is readable`, { cause: error });
        held = { credential: held.credential, readAt: at };
      }
      return held.credential;
    },
    refused(credential) {
      if (held?.credential === credential) held = { credential, readAt: Number.NEGATIVE_INFINITY };
    },
  };
}
