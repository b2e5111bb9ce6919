import { hash, timingSafeEqual } from 'node:crypto';
import type { User } from '@capstan/api';
import { sharedAudiences, type TokenAuthenticator, withAuthenticatedGroup } from './bearer.ts';

/**
 * Accepts the tokens of a file in the format of kube-apiserver's --token-auth-file: lines of `token,user,uid[,"group1,group2"]`.
 * `audiences` are those of this server.
 */
export function staticTokens(csv: string, audiences: readonly string[]): TokenAuthenticator {
  const users = new Map<string, { digest: Buffer; user: User }>();
  for (const [index, record] of parseCsv(csv).entries()) {
    const [token = '', name = '', uid = '', groups = ''] = record;
    if (record.length < 3) {
      throw new TypeError(
        `record ${index + 1} of the token file has ${record.length} columns: expected token, user name, user uid and, if any, groups`,
      );
    }
    if (token === '') throw new TypeError(`record ${index + 1} of the token file has an empty token`);
    const digest = digestOf(token);
    const list = groups === '' ? [] : groups.split(',').map((group) => group.trim());
    users.set(digest.toString('latin1'), { digest, user: { name, ...(uid && { uid }), groups: withAuthenticatedGroup(list) } });
  }
  return {
    authenticateToken(token, wanted) {
      // Looking up a digest leaks nothing about the tokens through timing.
      const digest = digestOf(token);
      const found = users.get(digest.toString('latin1'));
      if (found === undefined || !timingSafeEqual(found.digest, digest)) return undefined;
      const shared = sharedAudiences(audiences, wanted);
      return shared.length === 0 && wanted.length > 0 ? undefined : { user: found.user, audiences: shared };
    },
  };
}

const digestOf = (token: string): Buffer => hash('sha256', token, 'buffer');

/** RFC 4180: fields may be quoted, with quotes inside doubled. Empty lines are skipped. */
function parseCsv(text: string): string[][] {
  const records: string[][] = [];
  const field = /\s*(?:"((?:[^"]|"")*)"|([^",\n]*))(,|\r?\n|$)/y;
  let record: string[] = [];
  for (let at = 0; at < text.length; at = field.lastIndex) {
    field.lastIndex = at;
    const match = field.exec(text);
    if (match === null)
      throw new TypeError(`record ${records.length + 1} of the token file is not CSV: a quoted field does not end where it should`);
    record.push(match[1] === undefined ? match[2]!.trim() : match[1].replaceAll('""', '"'));
    if (match[3] === ',') {
      if (field.lastIndex === text.length) record.push('');
      continue;
    }
    if (record.length > 1 || record[0] !== '') records.push(record);
    record = [];
  }
  if (record.length > 1 || (record[0] ?? '') !== '') records.push(record);
  return records;
}
