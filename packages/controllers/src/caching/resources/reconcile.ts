import {
  type CachedResource,
  type CachedResourceEndpointSlice,
  holds,
  type KcpCondition,
  lacks,
  type NewCondition,
  withConditions,
} from '@capstan/api';
import { done, type Result, requeueAfter } from '@capstan/controller';
import { checkIdentity, makeIdentity } from '../../apis/exports/identity.ts';
import type { PublishingActions } from '../../apis/exports/publishing.ts';
import { printPublished } from '../published.ts';

const skipSliceAnnotation = 'cachedresources.cache.kcp.io/skip-endpointslice';
/** In milliseconds. Missing parts may appear at any time, and not all of them are watched. */
const lookAgain = 2_000;

/** A kind that the workspace serves. */
export interface ServedKind {
  readonly namespaced: boolean;
  readonly verbs: readonly string[];
}

export interface CachedResourceActions extends PublishingActions<CachedResource, CachedResourceEndpointSlice> {
  /** Undefined if the workspace does not serve it. */
  readonly getKind: (kind: { group: string; version: string; resource: string }) => Promise<ServedKind | undefined>;
}

/** Objects are served from where they are stored and never copied. So this only decides whether they can be published, and under which identity. */
export async function reconcileCachedResource(object: CachedResource, actions: CachedResourceActions): Promise<Result> {
  if (object.metadata.deletionTimestamp !== undefined) return done;
  if (object.spec?.identity?.secretRef === undefined) {
    const identity = await makeIdentity(object.metadata.name!, actions);
    // The update triggers the next reconcile.
    await actions.update({ ...object, spec: { ...object.spec!, identity } });
    return done;
  }
  await ensureSlice(object, actions);
  const { identityHash, condition } = await checkIdentity(object.spec.identity, object.status?.identityHash, actions);
  const resource = await checkKind(object, actions);
  const isReady = condition.status === 'True' && resource.status === 'True';
  const conditions = withConditions(
    object.status?.conditions,
    [condition, resource, ...started(object.status?.conditions, isReady ? undefined : [condition, resource])],
    actions.now(),
  );
  const phase = isReady ? 'Ready' : 'Initializing';
  const { status = {} } = object;
  if (conditions !== status.conditions || identityHash !== status.identityHash || phase !== status.phase)
    await actions.updateStatus({
      ...object,
      status: { ...status, ...(identityHash !== undefined && { identityHash }), phase, conditions },
    });
  return isReady ? done : requeueAfter(lookAgain);
}

async function checkKind(object: CachedResource, { getKind }: CachedResourceActions): Promise<NewCondition> {
  const { group = '', version = '', resource } = object.spec!;
  const served = await getKind({ group, version, resource });
  const printed = printPublished(object);
  const refuse = (reason: string, message: string): NewCondition => lacks('ResourceValid', { reason, message });
  if (served === undefined) return refuse('NoResources', `Resource ${printed} is not served in this workspace in version "${version}"`);
  if (served.namespaced) return refuse('ResourceNotClusterScoped', `Resource ${printed} is not cluster-scoped`);
  if (!served.verbs.includes('create')) return refuse('NoResources', `Resource ${printed} is not stored in this workspace`);
  return holds('ResourceValid');
}

/** The condition appears once something was published. */
function started(before: readonly KcpCondition[] = [], why: readonly NewCondition[] | undefined): NewCondition[] {
  if (why === undefined) return [holds('ReplicationStarted')];
  if (!before.some(({ type }) => type === 'ReplicationStarted')) return [];
  const { reason = '', message = '' } = why.find(({ status }) => status !== 'True')!;
  return [lacks('ReplicationStarted', { reason, message })];
}

async function ensureSlice({ metadata }: CachedResource, { hasSlice, createSlice }: CachedResourceActions): Promise<void> {
  const { name = '', annotations = {}, uid = '' } = metadata;
  if (annotations[skipSliceAnnotation] !== undefined || hasSlice(name)) return;
  // Without a path: the slice stays with its CachedResource when the workspace is copied or has other paths.
  await createSlice({
    apiVersion: 'cache.kcp.io/v1alpha1',
    kind: 'CachedResourceEndpointSlice',
    metadata: { name, ownerReferences: [{ apiVersion: 'cache.kcp.io/v1alpha1', kind: 'CachedResource', name, uid }] },
    spec: { cachedResource: { name } },
  });
}
