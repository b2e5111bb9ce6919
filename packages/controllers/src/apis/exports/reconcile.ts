import { type ApiExport, type ApiExportEndpointSlice, isTrue, pathAnnotation, withConditions } from '@capstan/api';
import { done, type Result, requeueAfter } from '@capstan/controller';
import { checkIdentity, makeIdentity } from './identity.ts';
import type { PublishingActions } from './publishing.ts';

const skipSliceAnnotation = 'apiexports.apis.kcp.io/skip-endpointslice';
/** In milliseconds. A missing identity may appear at any time, and secrets are not watched. */
const lookAgain = 1_000;

type ExportActions = PublishingActions<ApiExport, ApiExportEndpointSlice>;

/** Gives an export an identity, checks it, and creates its endpoint slice. */
export async function reconcileExport(object: ApiExport, actions: ExportActions): Promise<Result> {
  if (object.metadata.deletionTimestamp !== undefined) return done;
  if (object.spec?.identity?.secretRef === undefined) {
    const identity = await makeIdentity(object.metadata.name!, actions);
    // The update triggers the next reconcile.
    await actions.update({ ...object, spec: { ...object.spec, identity } });
    return done;
  }
  await verifyIdentity(object, actions);
  await ensureSlice(object, actions);
  return isTrue(object.status?.conditions, 'IdentityValid') ? done : requeueAfter(lookAgain);
}

async function verifyIdentity(object: ApiExport, actions: ExportActions): Promise<void> {
  const { identityHash, condition } = await checkIdentity(object.spec!.identity!, object.status?.identityHash, actions);
  const conditions = withConditions(object.status?.conditions, [condition], actions.now());
  if (conditions === object.status?.conditions && identityHash === object.status?.identityHash) return;
  await actions.updateStatus({ ...object, status: { ...object.status, ...(identityHash !== undefined && { identityHash }), conditions } });
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
