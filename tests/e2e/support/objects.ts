export interface ObjectMeta {
  readonly name: string;
  readonly namespace?: string;
  readonly labels?: Record<string, string>;
  readonly annotations?: Record<string, string>;
  readonly resourceVersion?: string;
  readonly generation?: number;
  readonly managedFields?: readonly { readonly manager: string; readonly operation: string }[];
}

export interface KubernetesObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: ObjectMeta;
}

export interface ConfigMap extends KubernetesObject {
  readonly data?: Record<string, string>;
}

export function configMap(name: string, data: Record<string, string> = {}, meta: Partial<ObjectMeta> = {}): ConfigMap {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, ...meta }, data };
}

export interface Deployment extends KubernetesObject {
  readonly spec: {
    readonly replicas: number;
    readonly selector: { readonly matchLabels: Record<string, string> };
    readonly template: {
      readonly metadata: { readonly labels: Record<string, string> };
      readonly spec: { readonly containers: readonly { name: string; image: string }[] };
    };
  };
}

export function deployment(name: string, replicas = 1): Deployment {
  const labels = { app: name };
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name },
    spec: {
      replicas,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [{ name: 'main', image: 'example.com/app:1' }] } },
    },
  };
}
