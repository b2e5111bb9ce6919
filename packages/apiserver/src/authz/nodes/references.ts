import { type Fields, fieldsOf, itemsOf, type KubeObject, textOf } from '@capstan/machinery';

/** The kinds of objects that a node may read because one of its pods needs them. */
export type ReferencedResource = 'secrets' | 'configmaps' | 'persistentvolumeclaims' | 'serviceaccounts' | 'resourceclaims';

export const mirrorAnnotation = 'kubernetes.io/config.mirror';

export const referenceTo = (resource: ReferencedResource, name: string): string => `${resource}/${name}`;

/** All objects of its own namespace that a pod refers to. */
export function referencesOfPod(pod: KubeObject): ReadonlySet<string> {
  const found = new Set<string>();
  const add = (resource: ReferencedResource, name: unknown): void => {
    if (textOf(name) !== '') found.add(referenceTo(resource, textOf(name)));
  };
  const spec = fieldsOf(pod['spec']);
  add('serviceaccounts', spec['serviceAccountName']);
  for (const { name } of itemsOf(spec['imagePullSecrets'])) add('secrets', name);
  for (const list of ['initContainers', 'containers', 'ephemeralContainers'])
    for (const container of itemsOf(spec[list])) addEnvironment(container, add);
  for (const volume of itemsOf(spec['volumes'])) addVolume(volume, pod.metadata.name ?? '', add);
  addResourceClaims(spec, fieldsOf(pod['status']), add);
  return found;
}

type Add = (resource: ReferencedResource, name: unknown) => void;

function addEnvironment(container: Fields, add: Add): void {
  for (const from of itemsOf(container['envFrom'])) {
    add('secrets', fieldsOf(from['secretRef'])['name']);
    add('configmaps', fieldsOf(from['configMapRef'])['name']);
  }
  for (const { valueFrom } of itemsOf(container['env'])) {
    add('secrets', fieldsOf(fieldsOf(valueFrom)['secretKeyRef'])['name']);
    add('configmaps', fieldsOf(fieldsOf(valueFrom)['configMapKeyRef'])['name']);
  }
}

/** Volume types whose credentials are in a secret, and the field that names it. */
const secretOfVolume: ReadonlyMap<string, (source: Fields) => unknown> = new Map([
  ['secret', (source: Fields) => source['secretName']],
  ['azureFile', (source: Fields) => source['secretName']],
  ['csi', (source: Fields) => fieldsOf(source['nodePublishSecretRef'])['name']],
  ...['cephfs', 'cinder', 'flexVolume', 'rbd', 'scaleIO', 'iscsi', 'storageos'].map(
    (type) => [type, (source: Fields) => fieldsOf(source['secretRef'])['name']] as const,
  ),
]);

function addVolume(volume: Fields, podName: string, add: Add): void {
  for (const [type, secretOf] of secretOfVolume) add('secrets', secretOf(fieldsOf(volume[type])));
  add('configmaps', fieldsOf(volume['configMap'])['name']);
  add('persistentvolumeclaims', fieldsOf(volume['persistentVolumeClaim'])['claimName']);
  if (volume['ephemeral'] !== undefined) add('persistentvolumeclaims', ephemeralClaim(podName, volume));
  for (const source of itemsOf(fieldsOf(volume['projected'])['sources'])) {
    add('secrets', fieldsOf(source['secret'])['name']);
    add('configmaps', fieldsOf(source['configMap'])['name']);
  }
}

/** The name of the claim that is created for an ephemeral volume. */
export const ephemeralClaim = (podName: string, volume: Fields): string => `${podName}-${textOf(volume['name'])}`;

/** Claims that are created from a template have their name in the status of the pod. */
function addResourceClaims(spec: Fields, status: Fields, add: Add): void {
  const created = new Map(itemsOf(status['resourceClaimStatuses']).map((one) => [one['name'], one['resourceClaimName']]));
  for (const { name, resourceClaimName } of itemsOf(spec['resourceClaims'])) add('resourceclaims', resourceClaimName ?? created.get(name));
  add('resourceclaims', fieldsOf(status['extendedResourceClaimStatus'])['resourceClaimName']);
}

/** Fields of a CSI volume that name the secrets that kubelets need; the other secrets are for controllers. */
const nodeSecretsOfCsi = ['nodePublishSecretRef', 'nodeStageSecretRef', 'nodeExpandSecretRef'];

/** Whether kubelets need a secret to mount a volume. Old volumes name no namespace; theirs is that of the claim. */
export function volumeNeedsSecret(volume: KubeObject, claimNamespace: string, secret: { namespace: string; name: string }): boolean {
  const spec = fieldsOf(volume['spec']);
  const isIt = (namespace: unknown, name: unknown): boolean =>
    textOf(name) === secret.name && (textOf(namespace) || claimNamespace) === secret.namespace;
  const csi = fieldsOf(spec['csi']);
  const azure = fieldsOf(spec['azureFile']);
  const references = [
    ...nodeSecretsOfCsi.map((field) => fieldsOf(csi[field])),
    ...['cephfs', 'cinder', 'flexVolume', 'rbd', 'scaleIO', 'iscsi', 'storageos'].map((type) =>
      fieldsOf(fieldsOf(spec[type])['secretRef']),
    ),
  ];
  return isIt(azure['secretNamespace'], azure['secretName']) || references.some(({ namespace, name }) => isIt(namespace, name));
}
