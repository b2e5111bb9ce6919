import { conditions, labelName, objectName, quantity, reference, timestamp } from '../definition/common.ts';
import { defineKind, type ObjectOf } from '../definition/define-kind.ts';
import { choice, flag, integer, list, object, optional, type Rule, text, withDefault } from '../definition/schema.ts';
import { downloadFields, imageField, oneSourceOf } from '../storages/preparation.ts';
import { computeGroup } from './fields.ts';

/** `Failed` storages need help: see `status.message` and `spec.recover`. */
export const storagePhases = ['Pending', 'Preparing', 'Ready', 'Resizing', 'Failed', 'Deleting'] as const;
export type StoragePhase = (typeof storagePhases)[number];

/** The class of storages on the disk of one node. */
export const localClass = 'local';

/** The smallest file system that is of use. */
const leastSize: Rule = {
  rule: "quantity(string(self)).compareTo(quantity('16Mi')) >= 0 && quantity(string(self)).compareTo(quantity('1Pi')) <= 0",
  message: 'must be between 16Mi and 1Pi',
};
const growsOnly: Rule = {
  rule: 'quantity(string(self)).compareTo(quantity(string(oldSelf))) >= 0',
  message: 'must not become smaller',
};
const fixed = (field: string): Rule => ({
  rule: `has(self.${field}) == has(oldSelf.${field}) && (!has(self.${field}) || self.${field} == oldSelf.${field})`,
  message: 'is immutable',
  fieldPath: `.${field}`,
});

const notBoth: Rule = {
  rule: '!(has(self.prepare) && has(self.snapshotOf))',
  message: 'must not be set for a snapshot',
  fieldPath: '.prepare',
};

const prepare = object(
  'Where the first files come from. If absent, the storage is empty.',
  {
    storage: optional(reference('A GPUStorage of the same namespace on the same node, whose files are copied while no unit mounts it.')),
    snapshot: optional(reference('A snapshot of the same namespace, whose files are copied. It is on the same node.')),
    url: optional(downloadFields),
    image: optional(imageField),
  },
  { rules: [oneSourceOf('storage', 'snapshot', 'url')] },
);

export const gpuStorageKind = defineKind({
  group: computeGroup,
  kind: 'GPUStorage',
  plural: 'gpustorages',
  shortNames: ['storage', 'storages'],
  categories: ['capstan'],
  scope: 'Namespaced',
  description:
    'A directory that outlives the units that mount it. Of the class `local`, it is on one node, to which all units that mount it go.',
  versions: {
    v1alpha1: {
      spec: object(
        'The size and the place of the storage.',
        {
          size: quantity('How much fits, such as `100Gi`. It may grow.', { rules: [leastSize, growsOnly] }),
          class: withDefault(
            labelName('`local`: on the disk of a node. Other classes are directories that several nodes share.', {
              rules: [{ rule: 'self == oldSelf', message: 'is immutable' }],
            }),
            localClass,
          ),
          node: optional(objectName('Node that has it. By default that of the first unit that mounts it.')),
          prepare: optional(prepare),
          snapshotOf: optional(
            reference(
              'Makes it a snapshot: the files that this GPUStorage of the namespace has at one moment. They never change, and units mount them only for reading.',
            ),
          ),
          deletionPolicy: withDefault(
            choice('`Retain` keeps the files on their node; a GPUStorage of the same name and namespace gets them back.', [
              'Delete',
              'Retain',
            ]),
            'Delete',
          ),
          recover: withDefault(
            integer('Raise it to repeat a preparation that failed, or to repair a damaged file system.', {
              minimum: 0,
              maximum: 1_000_000,
            }),
            0,
          ),
        },
        { rules: [fixed('node'), fixed('prepare'), fixed('snapshotOf'), notBoth] },
      ),
      status: object('State of the storage.', {
        observedGeneration: optional(integer('Generation that the status describes.', { minimum: 0 })),
        phase: optional(choice('State in one word.', [...storagePhases])),
        message: optional(text('Why it waits or failed, in one sentence.', { maxLength: 4096 })),
        node: optional(objectName('Node that has it. It never changes, except for a shared directory.')),
        directory: optional(text('Id of the shared directory that has it. It never changes.', { maxLength: 64 })),
        volume: optional(text('Name of its NodeVolume.', { maxLength: 64 })),
        capacityBytes: optional(integer('Size of its file system, in bytes.', { minimum: 0 })),
        usedBytes: optional(integer('How much is used, in bytes.', { minimum: 0 })),
        mountedBy: optional(list('Units that have it mounted.', objectName('Name of a GPUUnit.'), { maxItems: 64 })),
        takenAt: optional(timestamp('Moment whose files a snapshot has.')),
        recoverable: optional(flag('Whether `recover` may help.')),
        conditions: optional(conditions()),
      }),
      columns: [
        { name: 'Size', type: 'string', path: '.spec.size' },
        { name: 'Phase', type: 'string', path: '.status.phase' },
        { name: 'Node', type: 'string', path: '.status.node' },
        { name: 'Used', type: 'integer', path: '.status.usedBytes' },
        { name: 'Snapshot of', type: 'string', path: '.spec.snapshotOf.name', priority: 1 },
        { name: 'Units', type: 'string', path: '.status.mountedBy[*]', priority: 1 },
        { name: 'Message', type: 'string', path: '.status.message', priority: 1 },
        { name: 'Age', type: 'date', path: '.metadata.creationTimestamp' },
      ],
    },
  },
});

export type GPUStorage = ObjectOf<typeof gpuStorageKind>;
export type GPUStorageSpec = GPUStorage['spec'];
export type GPUStorageStatus = NonNullable<GPUStorage['status']>;

/** The GPUStorage of the same namespace whose files a storage begins with, and the field that names it. */
export function storageSource({ prepare, snapshotOf }: GPUStorageSpec): { readonly name: string; readonly field: string } | undefined {
  if (snapshotOf !== undefined) return { name: snapshotOf.name, field: 'spec.snapshotOf' };
  if (prepare?.snapshot !== undefined) return { name: prepare.snapshot.name, field: 'spec.prepare.snapshot' };
  return prepare?.storage === undefined ? undefined : { name: prepare.storage.name, field: 'spec.prepare.storage' };
}
