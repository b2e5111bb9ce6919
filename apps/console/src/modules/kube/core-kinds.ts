import type { KindReference } from '@capstan/api';
import type { KubeObject } from '@capstan/machinery/objects';

/** Kinds of Kubernetes that pages read. */

export interface KubeEvent extends KubeObject {
  readonly type?: string;
  readonly reason?: string;
  readonly message?: string;
  readonly count?: number;
  readonly firstTimestamp?: string | null;
  readonly lastTimestamp?: string | null;
  readonly eventTime?: string | null;
  readonly series?: { readonly count?: number; readonly lastObservedTime?: string };
  readonly involvedObject?: { readonly kind?: string; readonly name?: string; readonly namespace?: string; readonly uid?: string };
}

export const eventKind: KindReference<KubeEvent> = { group: '', version: 'v1', resource: 'events', namespaced: true, kind: 'Event' };
export const secretKind: KindReference = { group: '', version: 'v1', resource: 'secrets', namespaced: true, kind: 'Secret' };
export const namespaceKind: KindReference = { group: '', version: 'v1', resource: 'namespaces', namespaced: false, kind: 'Namespace' };
export const podKind: KindReference = { group: '', version: 'v1', resource: 'pods', namespaced: true, kind: 'Pod' };

const rbac = 'rbac.authorization.k8s.io';
export const clusterRoleKind: KindReference = {
  group: rbac,
  version: 'v1',
  resource: 'clusterroles',
  namespaced: false,
  kind: 'ClusterRole',
};
