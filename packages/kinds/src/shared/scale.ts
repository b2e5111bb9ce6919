import { fieldsOf, type KubeObject, type LabelSelectorObject, selectorOf, selectorOfObject, stringMapOf } from '@capstan/machinery';

/** Maps a kind to its scale subresource. */
export interface ScaleMapping {
  readonly specReplicasPath: readonly string[];
  readonly statusReplicasPath: readonly string[];
  /** The label selector of the counted pods, as text. */
  readonly selectorOf: (object: KubeObject) => string;
}

const paths = { specReplicasPath: ['spec', 'replicas'], statusReplicasPath: ['status', 'replicas'] };

const labelSelector: ScaleMapping = {
  ...paths,
  selectorOf: (object) => selectorOfObject(fieldsOf(object['spec'])['selector'] as LabelSelectorObject | undefined).toString(),
};

/** Replication controllers select by labels only. */
const equalitySelector: ScaleMapping = {
  ...paths,
  selectorOf: (object) => {
    const labels = Object.entries(stringMapOf(fieldsOf(object['spec'])['selector']));
    return selectorOf(labels.map(([key, value]) => ({ key, operator: '=', value }))).toString();
  },
};

/** By `group/resource`; the core group is empty. */
export const scaleMappings: ReadonlyMap<string, ScaleMapping> = new Map([
  ['apps/deployments', labelSelector],
  ['apps/replicasets', labelSelector],
  ['apps/statefulsets', labelSelector],
  ['/replicationcontrollers', equalitySelector],
]);
