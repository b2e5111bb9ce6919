import { immutable, objectName, timestamp } from '../definition/common.ts';
import { defineKind, type ObjectOf } from '../definition/define-kind.ts';
import { choice, flag, integer, object, optional, type ReadOf, text, withDefault } from '../definition/schema.ts';
import { downloadFields, imageField, oneSourceOf } from '../storages/preparation.ts';
import { sharedDirectory } from '../storages/shared-directory.ts';
import { fleetGroup } from './fields.ts';

/** `Resizing`: it can be used with its old size. `Deleted`: nothing of it is left on the node. */
export const nodeVolumePhases = ['Pending', 'Preparing', 'Ready', 'Resizing', 'Failed', 'Deleted'] as const;
export type NodeVolumePhase = (typeof nodeVolumePhases)[number];

/** Units may mount a volume in these phases. */
export const usableVolumePhases: ReadonlySet<string> = new Set<NodeVolumePhase>(['Ready', 'Resizing']);

/** Why a volume is not as it should be. */
export const volumeReasons = [
  'DiskFull',
  'SourceUnavailable',
  'SourceInUse',
  'UrlRefused',
  'DownloadFailed',
  'ChecksumMismatch',
  'UnpackFailed',
  'ImageUnavailable',
  'FileSystemDamaged',
  'InUse',
  'NodeProblem',
] as const;
export type VolumeReason = (typeof volumeReasons)[number];

const uid = (description: string) => text(description, { minLength: 1, maxLength: 64, pattern: '^[A-Za-z0-9-]+$' });

const owner = object('The GPUStorage that the volume is for.', {
  cluster: text('Id of its workspace.', { minLength: 1, maxLength: 253, rules: [immutable] }),
  namespace: text('Its namespace.', { minLength: 1, maxLength: 63, rules: [immutable] }),
  name: objectName('Its name.', { rules: [immutable] }),
  path: optional(text('Path of its workspace when the volume was created, by which quotas name it.', { maxLength: 1024 })),
  uid: uid('Its UID. Another one of the same name can take over a volume that was retained.'),
});

const prepare = object(
  'Where the first files come from.',
  {
    storage: optional(uid('Name of a NodeVolume of the same owner on this node.')),
    url: optional(downloadFields),
    image: optional(imageField),
  },
  { rules: [oneSourceOf('storage', 'url')] },
);

export const nodeVolumeKind = defineKind({
  group: fleetGroup,
  kind: 'NodeVolume',
  plural: 'nodevolumes',
  categories: ['capstan'],
  scope: 'Namespaced',
  description:
    'The files of a GPUStorage on a node, in the namespace of that node. The agent creates them, and deletes them only if `deleted` is set: a NodeVolume that ' +
    'disappears leaves the files where they are.',
  measures: [
    {
      name: 'storage',
      description: 'the sizes of all storages together',
      unit: 'bytes',
      of: 'storage',
      // Files count until they are deleted, also those that were retained.
      amount: "self.?status.?phase.orValue('') == 'Deleted' ? 0 : self.spec.size",
    },
  ],
  versions: {
    v1alpha1: {
      spec: object('The volume.', {
        owner,
        size: integer('Its size, in bytes. It may grow.', {
          minimum: 1,
          rules: [{ rule: 'self >= oldSelf', message: 'must not become smaller' }],
        }),
        directory: optional(
          sharedDirectory('The shared directory that has its files. If absent, they are on the disk of the node.', { rules: [immutable] }),
        ),
        prepare: optional(prepare),
        snapshotOf: optional(uid('Name of the NodeVolume of the same owner on this node whose files it has, as they were at one moment.')),
        recover: withDefault(integer('A higher number repeats what failed.', { minimum: 0 }), 0),
        retained: withDefault(flag('The GPUStorage is gone, and the files stay.'), false),
        deleted: withDefault(flag('Deletes the files, as soon as no unit on the node uses them.'), false),
      }),
      status: object('State of the volume. The agent reports it.', {
        phase: withDefault(choice('How far the volume is.', [...nodeVolumePhases]), 'Pending'),
        observedGeneration: optional(integer('Generation that the status describes.', { minimum: 0 })),
        capacityBytes: optional(integer('Size of its file system, in bytes.', { minimum: 0 })),
        usedBytes: optional(integer('How much is used, in bytes.', { minimum: 0 })),
        enforced: optional(flag('Whether programs cannot use more than the size.')),
        reason: optional(choice('Why it is not ready.', [...volumeReasons])),
        message: optional(text('Details for people.', { maxLength: 1024 })),
        takenAt: optional(timestamp('Moment whose files a snapshot has.')),
        recoverable: optional(flag('Whether it waits for a higher number of `recover`.')),
      }),
      columns: [
        { name: 'Storage', type: 'string', path: '.spec.owner.name' },
        { name: 'Phase', type: 'string', path: '.status.phase' },
        { name: 'Used', type: 'integer', path: '.status.usedBytes' },
        { name: 'Deleted', type: 'boolean', path: '.spec.deleted' },
        { name: 'Retained', type: 'boolean', path: '.spec.retained', priority: 1 },
        { name: 'Message', type: 'string', path: '.status.message', priority: 1 },
      ],
    },
  },
});

export type NodeVolume = ObjectOf<typeof nodeVolumeKind>;
export type NodeVolumeSpec = NodeVolume['spec'];
export type NodeVolumeStatus = NonNullable<NodeVolume['status']>;
export type VolumeOwner = ReadOf<typeof owner>;
