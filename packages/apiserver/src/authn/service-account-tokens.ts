import { hash } from 'node:crypto';
import { asClusterId, type ClusterId, rootCluster, type User } from '@capstan/api';
import type { ObjectReader } from '@capstan/kinds';
import { fieldError, type GroupResource, isObject, type KubeObject } from '@capstan/machinery';
import type { VerificationKey } from '@capstan/pki';
import type { TokenAuthenticator, TokenUser } from './bearer.ts';
import { type Claims, decode, isSignedBy } from './jwt.ts';
import { RecentlyUsed } from './recently-used.ts';
import { clusterExtra, serviceAccountGroups, serviceAccountName } from './service-account.ts';
import { Unauthenticated } from './user.ts';

export interface ServiceAccountTokenOptions {
  readonly issuer: string;
  /** Earlier issuers whose tokens are still accepted. */
  readonly formerIssuers?: readonly string[];
  readonly keys: readonly VerificationKey[];
  /** The audiences of this server; defaults to the issuer. */
  readonly audiences?: readonly string[];
  readonly objects: ObjectReader;
  readonly now?: () => number;
}

/** The tolerated clock skew in milliseconds. Tokens of deleted objects stay valid for as long. */
const leeway = 60_000;
const capacity = 20_000;
const revoked = { fault: 'revoked' } as const;

export const boundResources = {
  serviceAccounts: { group: '', resource: 'serviceaccounts' },
  secrets: { group: '', resource: 'secrets' },
  pods: { group: '', resource: 'pods' },
  nodes: { group: '', resource: 'nodes' },
} as const satisfies Record<string, GroupResource>;

interface Reference {
  readonly name: string;
  readonly uid: string;
}

/** The claim `kubernetes.io`. */
interface Binding {
  readonly cluster: ClusterId;
  readonly namespace: string;
  readonly serviceAccount: Reference;
  readonly pod: Reference | undefined;
  readonly secret: Reference | undefined;
  readonly node: Reference | undefined;
}

/** A token with a verified signature. */
interface Known {
  readonly binding: Binding;
  readonly tokenAudiences: readonly string[];
  readonly user: User;
  readonly notBefore: number;
  readonly notAfter: number;
  /** The state of the bound objects when the binding was last checked. */
  checkedAt: number;
}

/** Accepts the service account tokens that this server signed, while the account and the other objects that a token is bound to exist. */
export function serviceAccountTokens(options: ServiceAccountTokenOptions): TokenAuthenticator {
  const { issuer, formerIssuers = [], keys, objects, now = Date.now } = options;
  const issuers = [issuer, ...formerIssuers];
  const ownAudiences = options.audiences ?? [issuer];
  const known = new RecentlyUsed<string, Known>(capacity);

  function verified(token: string): Known | undefined {
    const parts = decode(token);
    if (parts === undefined || !issuers.includes(parts.claims['iss'] as string)) return undefined;
    const { kid } = parts.header;
    const candidates = kid === undefined ? keys : keys.filter((key) => key.kid === kid);
    if (candidates.length === 0) throw new Unauthenticated('invalid signature, no keys found', { fault: 'unknown-key' });
    if (!candidates.some((key) => isSignedBy(parts, key)))
      throw new Unauthenticated('the signature of the token is wrong', { fault: 'unknown-key' });
    return understand(parts.claims, ownAudiences);
  }

  return {
    authenticateToken(token, audiences) {
      const key = hash('sha256', token, 'base64');
      let entry = known.get(key);
      if (entry === undefined) {
        entry = verified(token);
        if (entry === undefined) return undefined;
        known.set(key, entry);
      }
      checkDates(entry, now());
      const shared = checkAudiences(entry, audiences);
      checkBinding(entry, objects, now());
      return { user: entry.user, audiences: shared } satisfies TokenUser;
    },
  };
}

function checkDates({ notBefore, notAfter }: Known, time: number): void {
  if (time > notAfter + leeway) throw new Unauthenticated('service account token has expired', { fault: 'expired' });
  if (time < notBefore - leeway) throw new Unauthenticated('service account token is not valid yet');
}

function checkAudiences({ tokenAudiences }: Known, wanted: readonly string[]): readonly string[] {
  const shared = tokenAudiences.filter((audience) => wanted.includes(audience));
  if (shared.length > 0) return shared;
  const list = (audiences: readonly string[]): string => `[${audiences.map(fieldError.quote).join(' ')}]`;
  throw new Unauthenticated(`token audiences ${list(tokenAudiences)} is invalid for the target audiences ${list(wanted)}`);
}

function checkBinding(entry: Known, objects: ObjectReader, time: number): void {
  const { binding } = entry;
  const { cluster, namespace, serviceAccount, secret, pod, node } = binding;
  // Generations only increase, so the sum is unchanged only if all of them are.
  let state = objects.generation(boundResources.serviceAccounts);
  if (secret !== undefined) state += objects.generation(boundResources.secrets);
  if (pod !== undefined) state += objects.generation(boundResources.pods);
  if (node !== undefined) state += objects.generation(boundResources.nodes);
  if (entry.checkedAt === state) return;

  const account = objects.get({ ...boundResources.serviceAccounts, cluster, namespace, name: serviceAccount.name });
  if (account === undefined) throw new Unauthenticated(`serviceaccounts "${serviceAccount.name}" not found`, revoked);
  if (account.metadata.uid !== serviceAccount.uid) {
    throw new Unauthenticated(`service account UID (${account.metadata.uid}) does not match claim (${serviceAccount.uid})`, revoked);
  }
  if (isGone(account, time)) throw new Unauthenticated(`service account ${namespace}/${serviceAccount.name} has been deleted`, revoked);
  let leaving = account.metadata.deletionTimestamp !== undefined;
  const check = (kind: string, reference: Reference, found: KubeObject | undefined): void => {
    if (found === undefined || isGone(found, time)) throw new Unauthenticated('service account token has been invalidated', revoked);
    if (found.metadata.uid !== reference.uid) {
      const claim = `service account ${kind} ref claim (${reference.uid})`;
      throw new Unauthenticated(`${kind} UID (${found.metadata.uid}) does not match ${claim}`, revoked);
    }
    leaving ||= found.metadata.deletionTimestamp !== undefined;
  };
  if (secret !== undefined) check('secret', secret, objects.get({ ...boundResources.secrets, cluster, namespace, name: secret.name }));
  if (pod !== undefined) check('pod', pod, objects.get({ ...boundResources.pods, cluster, namespace, name: pod.name }));
  // For a token bound to a pod, the node is informational.
  else if (node !== undefined) check('node', node, objects.get({ ...boundResources.nodes, cluster, namespace: '', name: node.name }));
  // An object that is being deleted becomes invalid without another change.
  entry.checkedAt = leaving ? -1 : state;
}

function isGone({ metadata: { deletionTimestamp } }: KubeObject, time: number): boolean {
  return deletionTimestamp !== undefined && Date.parse(deletionTimestamp) < time - leeway;
}

function understand(claims: Claims, ownAudiences: readonly string[]): Known {
  const { exp, nbf, jti, aud } = claims;
  const binding = understandBinding(claims['kubernetes.io']);
  if (binding === undefined || typeof exp !== 'number') {
    throw new Unauthenticated('the token lacks claims that every service account token of this server has');
  }
  const audiences = (typeof aud === 'string' ? [aud] : Array.isArray(aud) ? aud : []) as readonly string[];
  return {
    binding,
    tokenAudiences: audiences.length === 0 ? ownAudiences : audiences,
    user: userOf(binding, typeof jti === 'string' ? jti : ''),
    notBefore: typeof nbf === 'number' ? nbf * 1000 : 0,
    notAfter: exp * 1000,
    checkedAt: -1,
  };
}

function understandBinding(claim: unknown): Binding | undefined {
  if (!isObject(claim)) return undefined;
  const { namespace, clusterName = rootCluster } = claim;
  const serviceAccount = understandReference(claim['serviceaccount']);
  if (typeof namespace !== 'string' || typeof clusterName !== 'string' || serviceAccount === undefined) return undefined;
  return {
    // The token is ours, so its workspace is one that was resolved when it was signed.
    cluster: asClusterId(clusterName),
    namespace,
    serviceAccount,
    pod: understandReference(claim['pod']),
    secret: understandReference(claim['secret']),
    node: understandReference(claim['node']),
  };
}

function understandReference(claim: unknown): Reference | undefined {
  if (!isObject(claim) || typeof claim['name'] !== 'string') return undefined;
  return { name: claim['name'], uid: typeof claim['uid'] === 'string' ? claim['uid'] : '' };
}

function userOf({ cluster, namespace, serviceAccount, pod, node }: Binding, jti: string): User {
  const extra: Record<string, readonly string[]> = {};
  if (jti !== '') extra['authentication.kubernetes.io/credential-id'] = [`JTI=${jti}`];
  if (node !== undefined) {
    extra['authentication.kubernetes.io/node-name'] = [node.name];
    if (node.uid !== '') extra['authentication.kubernetes.io/node-uid'] = [node.uid];
  }
  if (pod !== undefined) {
    extra['authentication.kubernetes.io/pod-name'] = [pod.name];
    extra['authentication.kubernetes.io/pod-uid'] = [pod.uid];
  }
  if (cluster !== rootCluster) extra[clusterExtra] = [cluster];
  return {
    name: serviceAccountName(namespace, serviceAccount.name),
    uid: serviceAccount.uid,
    groups: [...serviceAccountGroups(namespace), 'system:authenticated'],
    extra,
  };
}
