import type { KubeObject } from '../json.ts';

/** Quotas for a whole workspace stand in this namespace, so that whoever may write there may limit everybody. */
export const workspaceQuotaNamespace = 'admin';

const annotation = 'experimental.quota.kcp.io/cluster-scoped';
const truths = new Set(['1', 't', 'T', 'true', 'TRUE', 'True']);

/** Whether a ResourceQuota limits its whole workspace, with the kinds that live in no namespace, and not its namespace alone. */
export function isWorkspaceQuota(quota: KubeObject): boolean {
  return quota.metadata.namespace === workspaceQuotaNamespace && asksForWorkspace(quota);
}

/** A warning about a ResourceQuota that asks to limit its whole workspace and is not where it can; undefined where there is nothing to say. */
export function misplacedQuotaWarning(quota: KubeObject): string | undefined {
  if (!asksForWorkspace(quota) || quota.metadata.namespace === workspaceQuotaNamespace) return undefined;
  const { namespace = '' } = quota.metadata;
  return `metadata.annotations[${annotation}]: only counts in the namespace "${workspaceQuotaNamespace}"; this quota limits the namespace "${namespace}" alone`;
}

function asksForWorkspace({ metadata }: KubeObject): boolean {
  return truths.has(metadata.annotations?.[annotation] ?? '');
}
