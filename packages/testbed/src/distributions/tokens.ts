import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { authorityHash } from './certificates.ts';
import type { Layout } from './layout.ts';
import { writeWhole } from './whole-file.ts';

export interface Token {
  /** Of the authority, if the token names one. */
  readonly hash?: string;
  readonly user: string;
  readonly password: string;
}

/** `K10<hash of the authority>::<user>:<password>`, or only a password. */
export function parseToken(text: string, user: 'server' | 'node'): Token {
  const found = /^K10([0-9a-f]{64})::([a-z]+):(.+)$/.exec(text);
  return found === null ? { user, password: text } : { hash: found[1]!, user: found[2]!, password: found[3]! };
}

export interface Passwords {
  readonly server: string;
  readonly node: string;
}

/** The passwords of a cluster, from its settings or from its first start, written into the files that people read. */
export function ensureTokens({ data, tls, settings }: Layout): Passwords {
  const file = join(data, 'server/token');
  const stored = existsSync(file) ? parseToken(readFileSync(file, 'utf8').trim(), 'server').password : undefined;
  const given = settings['token'] === undefined ? undefined : parseToken(String(settings['token']), 'server').password;
  if (stored !== undefined && given !== undefined && stored !== given)
    throw new Error('bootstrap data already found and encrypted with different token');
  const server = given ?? stored ?? randomBytes(16).toString('hex');
  const node = settings['agent-token'] === undefined ? server : String(settings['agent-token']);
  const hash = authorityHash(readFileSync(join(tls, 'server-ca.crt'), 'utf8'));
  writeWhole(file, `K10${hash}::server:${server}\n`, 0o600);
  writeWhole(join(data, 'server/agent-token'), `K10${hash}::node:${node}\n`, 0o600);
  rmSync(join(data, 'server/node-token'), { force: true });
  symlinkSync(join(data, 'server/agent-token'), join(data, 'server/node-token'));
  return { server, node };
}
