import type { User } from '@capstan/api';
import { superuserGroup } from '@capstan/api';
import { effectiveUsers, warrantsExtra } from '../../authz/effective-users.ts';
import { externalLogicalClusterAdminGroup, logicalClusterAdminGroup } from '../policy.ts';

/** Headers that are not forwarded: those of a single connection, and those that identify the user, which this server sets itself. */
const kept: ReadonlySet<string> = new Set([
  ...['connection', 'keep-alive', 'proxy-authenticate', 'proxy-authorization', 'proxy-connection', 'te', 'trailer'],
  ...['transfer-encoding', 'upgrade', 'http2-settings', 'host', 'content-length', 'expect'],
  ...['authorization', 'cookie', 'forwarded', 'x-real-ip', 'via', 'audit-id'],
]);
const keptPrefixes = [':', 'x-remote-', 'x-forwarded-', 'x-kcp-'];

/** Groups that grant rights on this server only. */
const ownGroups: ReadonlySet<string> = new Set([superuserGroup, logicalClusterAdminGroup, externalLogicalClusterAdminGroup]);

/** Thrown for a user whose attributes could inject other identity headers. */
export class CannotBeTold extends Error {
  override readonly name = 'CannotBeTold';
}

/** The headers of a request to forward, as `name, value, name, value…`. Underscores count as dashes, since some servers read them so. */
export function passedOn(rawHeaders: readonly string[]): string[] {
  const named = new Set<string>();
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    if (rawHeaders[at]!.toLowerCase() !== 'connection') continue;
    for (const name of rawHeaders[at + 1]!.split(',')) named.add(name.trim().toLowerCase());
  }
  const passed: string[] = [];
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]!.toLowerCase();
    const read = name.replaceAll('_', '-');
    if (kept.has(read) || named.has(name) || keptPrefixes.some((prefix) => read.startsWith(prefix))) continue;
    passed.push(name, rawHeaders[at + 1]!);
  }
  return passed;
}

/** The user, in the headers that Kubernetes reads from a trusted proxy. */
export function identityOf(user: User): string[] {
  // Elsewhere a service account is named with its workspace, and a user confined to a workspace is anonymous.
  const { name, uid, groups, extra = {} } = effectiveUsers(user, '')[0]!;
  const headers = ['X-Remote-User', told(name)];
  if (uid) headers.push('X-Remote-Uid', told(uid));
  for (const group of groups) if (!ownGroups.has(group)) headers.push('X-Remote-Group', told(group));
  for (const [key, values] of Object.entries(extra)) {
    if (key === warrantsExtra) continue;
    for (const value of values) headers.push(`X-Remote-Extra-${encodeURIComponent(key)}`, told(value));
  }
  return headers;
}

/** As UTF-8, which Go expects. */
function told(value: string): string {
  for (let at = 0; at < value.length; at++) {
    const code = value.charCodeAt(at);
    if (code < 0x20 || code === 0x7f) throw new CannotBeTold('a username, group or other user attribute contains control characters');
  }
  return Buffer.from(value).toString('latin1');
}

const endings: ReadonlySet<string> = new Set([
  ...['connection', 'keep-alive', 'proxy-authenticate', 'proxy-connection', 'te', 'trailer', 'transfer-encoding', 'upgrade'],
  ...['content-type', 'content-length', 'audit-id', 'cache-control', 'set-cookie', 'strict-transport-security'],
]);

/** The headers of a response to return to the client, without those that the server sets itself. */
export function handedBack(rawHeaders: readonly string[]): [string, string][] {
  const back: [string, string][] = [];
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    if (!endings.has(rawHeaders[at]!.toLowerCase())) back.push([rawHeaders[at]!, rawHeaders[at + 1]!]);
  }
  return back;
}
