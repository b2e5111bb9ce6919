import { type Fields, fieldsOf, itemsOf, type KubeObject, textOf } from '@capstan/machinery';
import { mirrorAnnotation, referencesOfPod } from '../../../authz/nodes/references.ts';

/** The volume types that need no object of the API. */
const standalone: ReadonlySet<string> = new Set([
  ...[
    'awsElasticBlockStore',
    'azureDisk',
    'cephfs',
    'cinder',
    'downwardAPI',
    'emptyDir',
    'fc',
    'flexVolume',
    'flocker',
    'gcePersistentDisk',
  ],
  ...['gitRepo', 'hostPath', 'image', 'iscsi', 'nfs', 'photonPersistentDisk', 'portworxVolume', 'quobyte', 'rbd', 'scaleIO', 'storageos'],
  'vsphereVolume',
]);

/** The other volume types, and the objects that they need. */
const dependent: ReadonlyMap<string, string> = new Map([
  ['configMap', 'configmaps (via configmap volumes)'],
  ['secret', 'secrets (via secret volumes)'],
  ['csi', 'csidrivers (via CSI volumes)'],
  ['glusterfs', 'endpoints (via glusterFS volumes)'],
  ['persistentVolumeClaim', 'persistentvolumeclaims'],
  ['ephemeral', 'persistentvolumeclaims (via ephemeral volumes)'],
  ['azureFile', 'secrets (via azureFile volumes)'],
]);

const dependentSources: ReadonlyMap<string, string> = new Map([
  ['configMap', 'configmaps (via projected volumes)'],
  ['secret', 'secrets (via projected volumes)'],
  ['serviceAccountToken', 'serviceaccounts (via projected volumes)'],
  ['clusterTrustBundle', 'clustertrustbundles'],
  ['podCertificate', 'podcertificates'],
]);

/** Why a node may not create a pod; undefined if it is a mirror pod of the node that needs nothing else. */
export function mirrorPodProblem(pod: KubeObject, node: string, stored: KubeObject | undefined): string | undefined {
  if (pod.metadata.annotations?.[mirrorAnnotation] === undefined)
    return `pod does not have "${mirrorAnnotation}" annotation, node "${node}" can only create mirror pods`;
  const spec = fieldsOf(pod['spec']);
  if (spec['nodeName'] !== node) return `node "${node}" can only create pods with spec.nodeName set to itself`;
  const owner = ownerProblem(pod, node, stored);
  if (owner !== undefined) return owner;
  const needed = neededObjects(pod, spec);
  return needed === undefined ? undefined : `node "${node}" can not create pods that reference ${needed}`;
}

function ownerProblem({ metadata }: KubeObject, node: string, stored: KubeObject | undefined): string | undefined {
  const [owner, ...others] = metadata.ownerReferences ?? [];
  if (others.length > 0) return `node "${node}" can only create pods with a single owner reference set to itself`;
  if (owner === undefined || owner.apiVersion !== 'v1' || owner.kind !== 'Node' || owner.name !== node)
    return `node "${node}" can only create pods with an owner reference set to itself`;
  if (owner.controller !== true) return `node "${node}" can only create pods with a controller owner reference set to itself`;
  if (owner.blockOwnerDeletion === true) return `node "${node}" must not set blockOwnerDeletion on an owner reference`;
  const uid = stored?.metadata.uid ?? '';
  return owner.uid === uid ? undefined : `node ${node} UID mismatch: expected ${owner.uid} got ${uid}`;
}

/** The kind of objects that a pod needs; undefined if it needs none. */
function neededObjects(pod: KubeObject, spec: Fields): string | undefined {
  const kinds = new Set([...referencesOfPod(pod)].map((reference) => reference.slice(0, reference.indexOf('/'))));
  if (textOf(spec['serviceAccountName']) !== '') return 'serviceaccounts';
  for (const kind of ['secrets', 'configmaps']) if (kinds.has(kind)) return kind;
  if (itemsOf(spec['resourceClaims']).length > 0) return 'resourceclaims';
  for (const volume of itemsOf(spec['volumes'])) {
    const needed = neededByVolume(volume);
    if (needed !== undefined) return needed;
  }
  return undefined;
}

function neededByVolume(volume: Fields): string | undefined {
  const types = Object.keys(volume).filter((type) => type !== 'name' && volume[type] !== undefined && volume[type] !== null);
  for (const type of types) {
    if (standalone.has(type)) continue;
    if (type !== 'projected') return dependent.get(type) ?? `an unknown volume type (${type})`;
    for (const source of itemsOf(fieldsOf(volume['projected'])['sources'])) {
      const other = Object.keys(source).find((name) => name !== 'downwardAPI');
      if (other !== undefined) return dependentSources.get(other) ?? `an unknown source of a projected volume (${other})`;
    }
  }
  return undefined;
}
