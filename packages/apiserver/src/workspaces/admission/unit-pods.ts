import { type ClusterId, computeGroup, unitLabel } from '@capstan/api';
import type { KubeObject } from '@capstan/machinery';
import { forbidden } from '../../admission/forbidden.ts';
import { homeOf, parseServiceAccountName } from '../../authn/service-account.ts';
import type { AdmissionPlugin, AdmissionRequest } from '../../registry/admission.ts';
import type { RequestContext } from '../../registry/context.ts';
import { serverUser } from '../../upkeep/context.ts';
import { isPlatformAccount } from '../authorizer.ts';
import { exportScopeKey } from '../views/apiexport.ts';

const pods = { group: '', resource: 'pods' };
/** The export of the product that runs units; its group has the same name. */
const unitExport = computeGroup;
const cleaners: ReadonlySet<string> = new Set(['generic-garbage-collector', 'namespace-controller']);

/**
 * Keeps pods that show units as the platform writes them. The account of the product is recognised by its workspace and by the view that it uses, which no
 * tenant can choose. Streams to these pods are not changes.
 */
export function unitPods({ platform }: { readonly platform: () => ClusterId | undefined }): AdmissionPlugin {
  const check = (request: AdmissionRequest): void => {
    const { resource, operation } = request;
    if (resource.group !== '' || (resource.resource !== 'pods' && resource.resource !== 'bindings') || operation === 'CONNECT') return;
    const shown = [request.old, request.shape === undefined && resource.resource === 'pods' ? undefined : storedPod(request)].find(
      isUnitPod,
    );
    if (shown === undefined && !isUnitPod(request.object)) return;
    if (!mayWrite(request.context, platform)) throw forbidden(request, whyNot(request, shown));
  };
  // Before other plugins leave these pods alone, and after webhooks and policies of tenants have changed them.
  return { name: 'capstan.dev/UnitPods', mutate: check, validate: check };
}

const isUnitPod = (pod: KubeObject | undefined): boolean => pod?.metadata.labels?.[unitLabel] !== undefined;

/** The pod of a subresource that has another shape, such as an Eviction. */
function storedPod({ context, namespace, name, object }: AdmissionRequest): KubeObject | undefined {
  return context.objects.get({ ...pods, cluster: context.cluster, namespace, name: name || (object?.metadata.name ?? '') });
}

function mayWrite({ user, info }: RequestContext, platform: () => ClusterId | undefined): boolean {
  if (user === serverUser) return true;
  if (isPlatformAccount(user)) return cleaners.has(parseServiceAccountName(user.name)?.name ?? '');
  const home = platform();
  return home !== undefined && home === homeOf(user) && info.scope?.key.startsWith(exportScopeKey(home, unitExport)) === true;
}

function whyNot({ name }: AdmissionRequest, shown: KubeObject | undefined): string {
  if (shown === undefined) return `the label ${unitLabel} is for pods that mirror GPU units; create a GPUUnit instead`;
  const pod = shown.metadata.name ?? name;
  return `pod ${pod} mirrors the GPU unit ${pod}; change or delete the GPUUnit instead, as with kubectl delete gpuunit ${pod}`;
}
