import {
  type FieldError,
  FieldPath,
  fieldError,
  fieldsOf,
  type KubeObject,
  names,
  textOf,
  textsOf,
  validateStandardFinalizer,
} from '@capstan/machinery';
import { keepPart } from '../parts.ts';
import { made } from '../shared/defaulting.ts';
import type { Strategy } from '../strategy.ts';

const nameLabel = 'kubernetes.io/metadata.name';
const kubernetesFinalizer = 'kubernetes';
const finalizers = FieldPath.of('spec', 'finalizers');
const phase = FieldPath.of('status', 'Phase');

/** Namespaces that cannot be deleted. */
export const lastingNamespaces: ReadonlySet<string> = new Set(['default', 'kube-system', 'kube-public']);

/** Selectors rely on this label to find a namespace by name, so clients cannot change it. */
function labelWithName(object: KubeObject): void {
  if (!object.metadata.name) return;
  object.metadata.labels ??= {};
  object.metadata.labels[nameLabel] = object.metadata.name;
}

function finalizerErrors(object: KubeObject, at: (index: number) => FieldPath): FieldError[] {
  return textsOf(fieldsOf(object['spec'])['finalizers']).flatMap((finalizer, index) => [
    ...names.qualifiedName(finalizer).map((message) => fieldError.invalid(at(index), finalizer, message)),
    ...validateStandardFinalizer(finalizer, at(index)),
  ]);
}

export const namespaces: Strategy = {
  validateName: names.dns1123Label,
  default(object) {
    labelWithName(object);
    const status = made(object, 'status');
    if (!status['phase']) status['phase'] = 'Active';
  },
  prepareForCreate(object) {
    object['status'] = { phase: 'Active' };
    const spec = made(object, 'spec');
    const given = textsOf(spec['finalizers']);
    if (!given.includes(kubernetesFinalizer)) spec['finalizers'] = [...given, kubernetesFinalizer];
  },
  prepareForUpdate(object, old) {
    keepPart(object, old, 'status');
    const kept = fieldsOf(old['spec'])['finalizers'];
    const spec = made(object, 'spec');
    if (kept === undefined) delete spec['finalizers'];
    else spec['finalizers'] = kept;
  },
  validate: (object) => finalizerErrors(object, () => finalizers),
  canonicalize: labelWithName,
  selectableLabels: ['status.phase'],
  selectableFields: (object) => ({ 'status.phase': textOf(fieldsOf(object['status'])['phase']) }),
  returnDeletedObject: true,
  status: {
    prepareForUpdate: (object, old) => keepPart(object, old, 'spec'),
    validateUpdate(object) {
      const expected = object.metadata.deletionTimestamp ? 'Terminating' : 'Active';
      const actual = textOf(fieldsOf(object['status'])['phase']);
      if (actual === expected) return [];
      const condition = expected === 'Active' ? 'is empty' : 'is not empty';
      return [fieldError.invalid(phase, actual, `may only be '${expected}' if \`deletionTimestamp\` ${condition}`)];
    },
  },
  subresources: {
    finalize: {
      prepareForUpdate: (object, old) => keepPart(object, old, 'status'),
      validateUpdate: (object) => finalizerErrors(object, (index) => finalizers.index(index)),
    },
  },
};
