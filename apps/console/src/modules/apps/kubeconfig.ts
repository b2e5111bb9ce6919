import {
  authorityPath,
  type ClusterPlace,
  clusterKubeconfig,
  type LogicalCluster,
  logicalClusterKind,
  logicalClusterName,
  rootCluster,
} from '@capstan/api';
import type { JsonObject } from '@capstan/machinery/objects';
import { kubeClient } from '../kube/client.ts';

/** A kubeconfig for the Kubernetes API of an instance. The page has no credentials, so that it contains none. */
export async function kubeconfigOf(place: ClusterPlace): Promise<JsonObject> {
  const [{ status }, { text: authority }] = await Promise.all([
    kubeClient(place.workspace).resource<LogicalCluster>(logicalClusterKind).get(logicalClusterName),
    kubeClient(rootCluster).raw({ method: 'GET', path: authorityPath }),
  ]);
  const cluster = { 'certificate-authority-data': btoa(authority) };
  return clusterKubeconfig({ ...place, server: status?.URL ?? '', cluster, user: {} });
}
