import type { KubeObject } from '../json.ts';

/** Quotas for a whole workspace stand in this namespace, so that whoever may write there may limit everybody. */
export const workspaceQuotaNamespace = 'admin';

const annotation = 'experimental.quota.kcp.io/cluster-scoped';
const truths = new Set(['1', 't', 'T', 'true', 'TRUE', 'True']);

/** Whether a ResourceQuota limits its whole workspace, with the kinds that live in no namespace, and not its namespace alone. */
export function isWorkspaceQuota({ metadata }: KubeObject): boolean {
  return metadata.namespace === workspaceQuotaNamespace && truths.has(metadata.annotations?.[annotation] ?? '');
}
