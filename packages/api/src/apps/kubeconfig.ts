import type { JsonObject } from '@capstan/machinery/objects';
import { appInstanceKind } from './app-instance.ts';

/** An instance, and the workspace that it is in by its path or id. */
export interface ClusterPlace {
  readonly workspace: string;
  readonly namespace: string;
  readonly name: string;
}

/** The path of the Kubernetes API of an instance at our API servers. */
export function clusterPath({ workspace, namespace, name }: ClusterPlace): string {
  const { group, version, resource } = appInstanceKind;
  return `/clusters/${workspace}/apis/${group}/${version}/namespaces/${namespace}/${resource}/${name}/proxy`;
}

export interface ClusterKubeconfigOptions extends ClusterPlace {
  /** Address of an API server, without a path. */
  readonly server: string;
  /** Settings of the cluster beside its address, such as `certificate-authority-data`. */
  readonly cluster: JsonObject;
  /** The user's own credentials at our API servers, as in any kubeconfig. */
  readonly user: JsonObject;
}

/** A kubeconfig for the Kubernetes API of an instance. It contains our address and the user's own credentials, and none of the cluster. */
export function clusterKubeconfig({ server, cluster, user, ...place }: ClusterKubeconfigOptions): JsonObject {
  const { name } = place;
  return {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name, cluster: { ...cluster, server: new URL(server).origin + clusterPath(place) } }],
    users: [{ name, user }],
    contexts: [{ name, context: { cluster: name, user: name } }],
    'current-context': name,
  };
}
