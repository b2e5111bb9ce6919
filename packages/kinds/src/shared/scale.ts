import { fieldsOf, type KubeObject, type LabelSelectorObject, selectorOf, selectorOfObject, stringMapOf } from '@capstan/machinery';

/** How a kind is seen through its scale subresource. */
export interface ScaleMapping {
  readonly specReplicasPath: readonly string[];
  readonly statusReplicasPath: readonly string[];
  /** The pods that are counted, as a label selector in text. */
  readonly selectorOf: (object: KubeObject) => string;
}

const paths = { specReplicasPath: ['spec', 'replicas'], statusReplicasPath: ['status', 'replicas'] };

const labelSelector: ScaleMapping = {
  ...paths,
  selectorOf: (object) => selectorOfObject(fieldsOf(object['spec'])['selector'] as LabelSelectorObject | undefined).toString(),
};

/** The oldest of these kinds selects by labels alone. */
const equalitySelector: ScaleMapping = {
  ...paths,
  selectorOf: (object) => {
    const labels = Object.entries(stringMapOf(fieldsOf(object['spec'])['selector']));
    return selectorOf(labels.map(([key, value]) => ({ key, operator: '=', value }))).toString();
  },
};

/** By `group/resource`, with an empty group for the core one. */
export const scaleMappings: ReadonlyMap<string, ScaleMapping> = new Map([
  ['apps/deployments', labelSelector],
  ['apps/replicasets', labelSelector],
  ['apps/statefulsets', labelSelector],
  ['/replicationcontrollers', equalitySelector],
]);
