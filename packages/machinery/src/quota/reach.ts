import type { KubeObject } from '../json.ts';

/** Quotas for a whole workspace are in this namespace, so that write access to it lets users limit everyone. */
export const workspaceQuotaNamespace = 'admin';

const annotation = 'experimental.quota.kcp.io/cluster-scoped';
const truths = new Set(['1', 't', 'T', 'true', 'TRUE', 'True']);

/** Whether a ResourceQuota limits its whole workspace, including cluster-scoped kinds, rather than only its namespace. */
export function isWorkspaceQuota(quota: KubeObject): boolean {
  return quota.metadata.namespace === workspaceQuotaNamespace && asksForWorkspace(quota);
}

/** A warning for a ResourceQuota that asks to limit its whole workspace from a namespace where it cannot; otherwise undefined. */
export function misplacedQuotaWarning(quota: KubeObject): string | undefined {
  if (!asksForWorkspace(quota) || quota.metadata.namespace === workspaceQuotaNamespace) return undefined;
  const { namespace = '' } = quota.metadata;
  return `metadata.annotations[${annotation}]: only counts in the namespace "${workspaceQuotaNamespace}"; this quota limits the namespace "${namespace}" alone`;
}

function asksForWorkspace({ metadata }: KubeObject): boolean {
  return truths.has(metadata.annotations?.[annotation] ?? '');
}
