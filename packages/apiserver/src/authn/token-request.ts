import { randomUUID } from 'node:crypto';
import { type ClusterId, rootCluster } from '@capstan/api';
import type { ObjectReader } from '@capstan/kinds';
import { FieldPath, fieldError, type KubeObject, type ObjectMeta, status } from '@capstan/machinery';
import type { SigningKey } from '@capstan/pki';
import { encode } from './jwt.ts';
import { serviceAccountName } from './service-account.ts';
import { boundResources } from './service-account-tokens.ts';

export interface TokenIssuer {
  readonly issuer: string;
  readonly key: SigningKey;
  /** The audiences of this server, the default for requests that name none. */
  readonly audiences: readonly string[];
  readonly objects: ObjectReader;
  readonly now?: () => Date;
  /** Longer lifetimes are reduced to this, with a warning. */
  readonly maxExpirationSeconds?: number;
  readonly warn?: (message: string) => void;
}

/** A POST to serviceaccounts/<name>/token, with the body decoded and defaulted. */
export interface TokenRequestCall {
  readonly cluster: ClusterId;
  readonly namespace: string;
  readonly name: string;
  readonly body: KubeObject;
}

interface TokenRequestSpec {
  audiences?: string[] | null;
  expirationSeconds?: number | null;
  boundObjectRef?: { kind?: string; apiVersion?: string; name?: string; uid?: string } | null;
}

interface BoundObjects {
  pod?: ObjectMeta;
  secret?: ObjectMeta;
  node?: Pick<ObjectMeta, 'name' | 'uid'>;
}

const tokenRequest = { group: 'authentication.k8s.io', kind: 'TokenRequest' };
const conflictResource = { group: 'authentication.k8s.io', resource: 'TokenRequest' };
/** The lifetime that kubelets request by default. Such tokens are valid for a year, for clients that never reload them. */
const projectedLifetime = 60 * 60 + 7;
const extendedLifetime = 365 * 24 * 60 * 60;

/** Signs a token for a service account. Returns the TokenRequest with its status, and the id of the token for the audit log. */
export function createServiceAccountToken(call: TokenRequestCall, options: TokenIssuer): { object: KubeObject; credentialId: string } {
  const { issuer, key, objects, now = () => new Date(), warn } = options;
  const { cluster, namespace, name, body } = call;
  checkPlace(call);
  const account = objects.get({ ...boundResources.serviceAccounts, cluster, namespace, name });
  if (account === undefined) throw status.notFound(boundResources.serviceAccounts, name);
  const { uid = '' } = account.metadata;
  if (body.metadata.uid && body.metadata.uid !== uid) {
    throw status.conflict(
      conflictResource,
      name,
      `the UID in the token request (${body.metadata.uid}) does not match the UID of the service account (${uid})`,
    );
  }

  const spec = (body['spec'] ?? {}) as TokenRequestSpec;
  const audiences = spec.audiences && spec.audiences.length > 0 ? spec.audiences : options.audiences;
  let seconds = checkedLifetime(spec.expirationSeconds ?? 3600);
  const bound = spec.boundObjectRef ? findBound(spec.boundObjectRef, call, objects) : {};
  const { maxExpirationSeconds = 0 } = options;
  if (maxExpirationSeconds > 0 && seconds > maxExpirationSeconds) {
    warn?.(`requested expiration of ${seconds} seconds shortened to ${maxExpirationSeconds} seconds`);
    seconds = maxExpirationSeconds;
  }

  const at = now();
  const issuedAt = Math.floor(at.getTime() / 1000);
  const isProjected =
    bound.pod !== undefined && seconds === projectedLifetime && audiences.every((audience) => options.audiences.includes(audience));
  const jti = randomUUID();
  const token = encode(
    {
      aud: audiences,
      exp: issuedAt + (isProjected ? extendedLifetime : seconds),
      iat: issuedAt,
      iss: issuer,
      jti,
      'kubernetes.io': {
        ...(cluster !== rootCluster && { clusterName: cluster }),
        namespace,
        ...(bound.node && { node: reference(bound.node) }),
        ...(bound.pod && { pod: reference(bound.pod) }),
        ...(bound.secret && { secret: reference(bound.secret) }),
        serviceaccount: { name, uid },
        ...(isProjected && { warnafter: issuedAt + seconds }),
      },
      nbf: issuedAt,
      sub: serviceAccountName(namespace, name),
    },
    key,
  );
  return {
    credentialId: `JTI=${jti}`,
    object: {
      kind: 'TokenRequest',
      apiVersion: 'authentication.k8s.io/v1',
      metadata: { ...body.metadata, name, namespace, uid, creationTimestamp: timestamp(issuedAt) },
      spec: { audiences, expirationSeconds: seconds, boundObjectRef: spec.boundObjectRef ?? null },
      status: { token, expirationTimestamp: timestamp(issuedAt + seconds) },
    },
  };
}

const timestamp = (seconds: number): string => `${new Date(seconds * 1000).toISOString().slice(0, 19)}Z`;

const reference = ({ name, uid }: Pick<ObjectMeta, 'name' | 'uid'>): object => ({ name, ...(uid && { uid }) });

function checkPlace({ namespace, name, body: { metadata } }: TokenRequestCall): void {
  const path = FieldPath.of('metadata');
  if (metadata.name && metadata.name !== name) {
    throw status.invalidObject(tokenRequest, name, [
      fieldError.invalid(path.child('name'), metadata.name, 'must match the service account name if specified'),
    ]);
  }
  if (metadata.namespace && metadata.namespace !== namespace) {
    throw status.invalidObject(tokenRequest, name, [
      fieldError.invalid(path.child('namespace'), metadata.namespace, 'must match the service account namespace if specified'),
    ]);
  }
}

function checkedLifetime(seconds: number): number {
  const path = FieldPath.of('spec', 'expirationSeconds');
  const refuse = (why: string): Error => status.invalidObject(tokenRequest, '', [fieldError.invalid(path, seconds, why)]);
  if (seconds < 600) throw refuse('may not specify a duration less than 10 minutes');
  if (seconds > 2 ** 32) throw refuse('may not specify a duration larger than 2^32 seconds');
  return seconds;
}

function findBound(ref: NonNullable<TokenRequestSpec['boundObjectRef']>, call: TokenRequestCall, objects: ObjectReader): BoundObjects {
  const { kind = '', apiVersion = '', name: refName = '' } = ref;
  const { cluster, namespace } = call;
  const isCore = !apiVersion.includes('/');
  const find = (resource: (typeof boundResources)[keyof typeof boundResources], inNamespace: string): KubeObject => {
    const found = objects.get({ ...resource, cluster, namespace: inNamespace, name: refName });
    if (found === undefined) throw status.notFound(resource, refName);
    if (ref.uid && ref.uid !== found.metadata.uid) {
      const why = `the UID in the bound object reference (${ref.uid}) does not match the UID in record. The object might have been deleted and then recreated`;
      throw status.conflict({ group: '', resource: kind }, refName, why);
    }
    return found;
  };
  if (isCore && kind === 'Pod') return boundToPod(find(boundResources.pods, namespace), call, objects);
  if (isCore && kind === 'Node') return { node: find(boundResources.nodes, '').metadata };
  if (isCore && kind === 'Secret') return { secret: find(boundResources.secrets, namespace).metadata };
  throw status.badRequest(`cannot bind token to object of type ${apiVersion.includes('/') ? apiVersion : `/${apiVersion}`}, Kind=${kind}`);
}

function boundToPod(pod: KubeObject, { cluster, name }: TokenRequestCall, objects: ObjectReader): BoundObjects {
  const { serviceAccountName: account, nodeName } = (pod['spec'] ?? {}) as { serviceAccountName?: string; nodeName?: string };
  if (account !== name) {
    throw status.badRequest(
      `cannot bind token for serviceaccount ${fieldError.quote(name)} to pod running with different serviceaccount name.`,
    );
  }
  if (!nodeName) return { pod: pod.metadata };
  const node = objects.get({ ...boundResources.nodes, cluster, namespace: '', name: nodeName });
  return { pod: pod.metadata, node: node?.metadata ?? { name: nodeName } };
}
