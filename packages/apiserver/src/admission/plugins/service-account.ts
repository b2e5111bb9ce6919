import { made } from '@capstan/kinds';
import type { KubeObject } from '@capstan/machinery';
import { type Fields, itemsOf, textOf } from '@capstan/machinery';
import type { AdmissionPlugin, AdmissionRequest } from '../../registry/admission.ts';
import { generateName } from '../../registry/metadata.ts';
import { forbidden } from '../forbidden.ts';

const accounts = { group: '', resource: 'serviceaccounts' };
const defaultAccount = 'default';
const volumePrefix = 'kube-api-access-';
const mountPath = '/var/run/secrets/kubernetes.io/serviceaccount';
const mirrorAnnotation = 'kubernetes.io/config.mirror';

/** Sets the service account of pods. Pods without one get the default account of the namespace, if it exists. */
export const serviceAccounts: AdmissionPlugin = {
  name: 'ServiceAccount',
  mutate(request) {
    const { resource, object, operation, subresource } = request;
    if (resource.group !== '' || resource.resource !== 'pods' || subresource !== '' || operation !== 'CREATE' || object === undefined)
      return;
    if (object.metadata.annotations?.[mirrorAnnotation] !== undefined) return;
    const spec = made(object, 'spec');
    const name = textOf(spec['serviceAccountName']) || defaultAccount;
    const account = accountOf(request, name);
    if (account === undefined) {
      // The controller that creates default accounts may not have created this one yet, or may not be running.
      if (name === defaultAccount) return;
      throw forbidden(request, `error looking up service account ${request.namespace}/${name}: serviceaccount "${name}" not found`);
    }
    spec['serviceAccountName'] = name;
    spec['serviceAccount'] = name;
    if (wantsToken(spec, account)) mountToken(spec);
    const pullSecrets = itemsOf(account['imagePullSecrets']);
    if (itemsOf(spec['imagePullSecrets']).length === 0 && pullSecrets.length > 0) {
      spec['imagePullSecrets'] = pullSecrets.map(({ name: secret }) => ({ name: secret }));
    }
  },
};

function accountOf({ context, namespace }: AdmissionRequest, name: string): KubeObject | undefined {
  return context.objects.get({ ...accounts, cluster: context.cluster, namespace, name });
}

/** The setting of the pod takes precedence over that of the account. */
function wantsToken(spec: Fields, account: KubeObject): boolean {
  return (spec['automountServiceAccountToken'] ?? account['automountServiceAccountToken']) !== false;
}

function mountToken(spec: Fields): void {
  const volumes = itemsOf(spec['volumes']);
  const existing = volumes.find((volume) => textOf(volume['name']).startsWith(volumePrefix));
  const name = existing === undefined ? generateName(volumePrefix) : textOf(existing['name']);
  let isMounted = false;
  for (const container of [...itemsOf(spec['initContainers']), ...itemsOf(spec['containers'])]) {
    const mounts = itemsOf(container['volumeMounts']);
    if (mounts.some((mount) => mount['mountPath'] === mountPath)) continue;
    container['volumeMounts'] = [...mounts, { name, readOnly: true, mountPath }];
    isMounted = true;
  }
  if (isMounted && existing === undefined) spec['volumes'] = [...volumes, tokenVolume(name)];
}

function tokenVolume(name: string): Fields {
  const namespace = { path: 'namespace', fieldRef: { apiVersion: 'v1', fieldPath: 'metadata.namespace' } };
  return {
    name,
    projected: {
      sources: [
        // Kubernetes' default of a little over an hour, by which the server detects clients that do not reload their token.
        { serviceAccountToken: { expirationSeconds: 3607, path: 'token' } },
        { configMap: { name: 'kube-root-ca.crt', items: [{ key: 'ca.crt', path: 'ca.crt' }] } },
        { downwardAPI: { items: [namespace] } },
      ],
      defaultMode: 420,
    },
  };
}
