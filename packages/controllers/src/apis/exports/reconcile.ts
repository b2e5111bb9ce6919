import { createHash, randomBytes } from 'node:crypto';
import { done, type Result, requeueAfter } from '@capstan/controller';
import type { KubeObject } from '@capstan/machinery';
import { holds, isTrue, lacks, type NewCondition, withConditions } from '../../kcp-conditions.ts';
import { type ApiExport, type EndpointSlice, pathAnnotation } from '../kinds.ts';

/** Where identities are kept that nobody chose. */
export const identityNamespace = 'kcp-system';
const skipSliceAnnotation = 'apiexports.apis.kcp.io/skip-endpointslice';
/** An identity that is not there may come at any time, and nobody tells us: secrets are not followed. */
const lookAgain = 1_000;

export interface ExportActions {
  readonly getSecret: (namespace: string, name: string) => Promise<KubeObject | undefined>;
  /** Also makes the namespace. One that is there already stays. */
  readonly createSecret: (secret: KubeObject) => Promise<void>;
  readonly hasSlice: (name: string) => boolean;
  readonly createSlice: (slice: EndpointSlice) => Promise<void>;
  readonly update: (object: ApiExport) => Promise<unknown>;
  readonly updateStatus: (object: ApiExport) => Promise<unknown>;
  readonly now: () => Date;
}

export async function reconcileExport(object: ApiExport, actions: ExportActions): Promise<Result> {
  if (object.metadata.deletionTimestamp !== undefined) return done;
  if (object.spec?.identity?.secretRef === undefined) return giveIdentity(object, actions);
  await verifyIdentity(object, actions);
  await ensureSlice(object, actions);
  return isValid(object) ? done : requeueAfter(lookAgain);

  function isValid({ status }: ApiExport): boolean {
    return isTrue(status?.conditions, 'IdentityValid');
  }
}

async function giveIdentity(object: ApiExport, { createSecret, update }: ExportActions): Promise<Result> {
  const name = object.metadata.name!;
  await createSecret({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name, namespace: identityNamespace },
    data: { key: randomBytes(32).toString('base64') },
  });
  const identity = { secretRef: { namespace: identityNamespace, name } };
  // The change leads here again.
  await update({ ...object, spec: { ...object.spec, identity } });
  return done;
}

async function verifyIdentity(object: ApiExport, { getSecret, updateStatus, now }: ExportActions): Promise<void> {
  const { namespace = '', name = '' } = object.spec!.identity!.secretRef!;
  const found = identityOf(await getSecret(namespace, name), name);
  const identityHash = object.status?.identityHash || found.hash;
  const condition = verdict(found, identityHash);
  const conditions = withConditions(object.status?.conditions, [condition], now());
  if (conditions === object.status?.conditions && identityHash === object.status?.identityHash) return;
  await updateStatus({ ...object, status: { ...object.status, ...(identityHash !== undefined && { identityHash }), conditions } });
}

interface Identity {
  readonly hash?: string;
  readonly failure?: string;
}

function identityOf(secret: KubeObject | undefined, name: string): Identity {
  if (secret === undefined) return { failure: `secret "${name}" not found` };
  const key = (secret['data'] as { key?: string } | undefined)?.key;
  if (!key) return { failure: 'secret is missing data.key' };
  return { hash: createHash('sha256').update(Buffer.from(key, 'base64')).digest('hex') };
}

function verdict({ hash, failure }: Identity, wanted: string | undefined): NewCondition {
  if (failure !== undefined) return lacks('IdentityValid', { reason: 'IdentityVerificationFailed', message: failure });
  if (hash === wanted) return holds('IdentityValid');
  const message = `hash mismatch: identity secret hash "${hash}" must match status.identityHash "${wanted}"`;
  return lacks('IdentityValid', { reason: 'IdentityVerificationFailed', message });
}

async function ensureSlice(object: ApiExport, { hasSlice, createSlice }: ExportActions): Promise<void> {
  const { name = '', annotations = {}, uid = '' } = object.metadata;
  if (annotations[skipSliceAnnotation] !== undefined || hasSlice(name)) return;
  await createSlice({
    apiVersion: 'apis.kcp.io/v1alpha1',
    kind: 'APIExportEndpointSlice',
    metadata: { name, ownerReferences: [{ apiVersion: 'apis.kcp.io/v1alpha1', kind: 'APIExport', name, uid }] },
    spec: { export: { name, ...(annotations[pathAnnotation] !== undefined && { path: annotations[pathAnnotation] }) } },
  });
}
