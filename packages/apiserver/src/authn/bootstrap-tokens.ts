import { timingSafeEqual } from 'node:crypto';
import { bootstrappersGroup, rootCluster, type User } from '@capstan/api';
import type { ObjectReader } from '@capstan/kinds';
import { fieldsOf, type KubeObject, textOf } from '@capstan/machinery';
import { sharedAudiences, type TokenAuthenticator, withAuthenticatedGroup } from './bearer.ts';

const secrets = { group: '', resource: 'secrets' };
const tokenFormat = /^([a-z0-9]{6})\.([a-z0-9]{16})$/;
const extraGroupFormat = /^system:bootstrappers:[a-z0-9:-]{0,255}[a-z0-9]$/;

export interface BootstrapTokenOptions {
  readonly objects: ObjectReader;
  readonly now: () => number;
  /** Those of this server. */
  readonly audiences: readonly string[];
  /** Limits the users of these tokens. */
  readonly extra: NonNullable<User['extra']>;
}

/**
 * Accepts bootstrap tokens, `<id>.<secret>`, with which new nodes request their first certificate. They are secrets of the type
 * `bootstrap.kubernetes.io/token` in the namespace kube-system of the root workspace.
 */
export function bootstrapTokens({ objects, now, audiences, extra }: BootstrapTokenOptions): TokenAuthenticator {
  // The same object for the same user lets the authorizer find its grants without computing its identity.
  const users = new WeakMap<KubeObject, User>();
  return {
    authenticateToken(token, wanted) {
      const [, id = '', secret = ''] = tokenFormat.exec(token) ?? [];
      if (id === '') return undefined;
      const stored = objects.get({ ...secrets, cluster: rootCluster, namespace: 'kube-system', name: `bootstrap-token-${id}` });
      if (stored === undefined || !isValid(stored, { id, secret }, now())) return undefined;
      let user = users.get(stored);
      if (user === undefined) {
        const groups = groupsOf(stored);
        if (groups === undefined) return undefined;
        user = { name: `system:bootstrap:${id}`, groups: withAuthenticatedGroup(groups), extra };
        users.set(stored, user);
      }
      const shared = sharedAudiences(audiences, wanted);
      return shared.length === 0 && wanted.length > 0 ? undefined : { user, audiences: shared };
    },
  };
}

function isValid(stored: KubeObject, { id, secret }: { id: string; secret: string }, now: number): boolean {
  if (stored.metadata.deletionTimestamp || stored['type'] !== 'bootstrap.kubernetes.io/token') return false;
  const [expected, given] = [Buffer.from(dataOf(stored, 'token-secret')), Buffer.from(secret)];
  if (expected.length !== given.length || !timingSafeEqual(expected, given)) return false;
  if (dataOf(stored, 'token-id') !== id || dataOf(stored, 'usage-bootstrap-authentication') !== 'true') return false;
  const expiration = dataOf(stored, 'expiration');
  // An expiration that cannot be read is over.
  return expiration === '' || Date.parse(expiration) > now;
}

/** Undefined if the secret names groups that bootstrap tokens must not have. */
function groupsOf(stored: KubeObject): readonly string[] | undefined {
  const extra = dataOf(stored, 'auth-extra-groups');
  const groups = extra === '' ? [] : extra.split(',');
  return groups.every((group) => extraGroupFormat.test(group)) ? [...new Set([bootstrappersGroup, ...groups])] : undefined;
}

function dataOf(stored: KubeObject, key: string): string {
  return Buffer.from(textOf(fieldsOf(stored['data'])[key]), 'base64').toString('utf8');
}
