import { fieldsOf, itemsOf, textOf, textsOf } from '@capstan/machinery';
import type { TablePrinter } from '../strategy.ts';
import { printer, type Row } from './columns.ts';
import { accessModes, none, optionalBoolean, optionalText, storageClass, textOr, unset } from './format.ts';

function phase({ object, status }: Row): string {
  return object.metadata.deletionTimestamp === undefined ? textOf(status['phase']) : 'Terminating';
}

function claimOf({ spec }: Row): string {
  const claim = fieldsOf(spec['claimRef']);
  return spec['claimRef'] === undefined ? '' : `${textOf(claim['namespace'])}/${textOf(claim['name'])}`;
}

function size(capacity: unknown): string {
  return textOr(fieldsOf(capacity)['storage'], '0');
}

function isDefaultClass({ object }: Row): boolean {
  const annotations = fieldsOf(object.metadata.annotations);
  return (
    annotations['storageclass.kubernetes.io/is-default-class'] === 'true' ||
    annotations['storageclass.beta.kubernetes.io/is-default-class'] === 'true'
  );
}

export const storagePrinters = new Map<string, TablePrinter>([
  [
    '/persistentvolumes',
    printer(
      '!Name, Capacity, Access Modes, Reclaim Policy, Status, Claim, StorageClass, VolumeAttributesClass, Reason, Age, +VolumeMode',
      (row) => [
        row.name,
        size(row.spec['capacity']),
        accessModes(row.spec['accessModes']),
        textOf(row.spec['persistentVolumeReclaimPolicy']),
        phase(row),
        claimOf(row),
        storageClass(row.object.metadata.annotations, row.spec),
        optionalText(row.spec['volumeAttributesClassName'], unset),
        textOf(row.status['reason']),
        row.age,
        optionalText(row.spec['volumeMode'], unset),
      ],
    ),
  ],
  [
    '/persistentvolumeclaims',
    printer('!Name, Status, Volume, Capacity, Access Modes, StorageClass, VolumeAttributesClass, Age, +VolumeMode', (row) => {
      const volume = textOf(row.spec['volumeName']);
      return [
        row.name,
        phase(row),
        volume,
        volume === '' ? '' : size(row.status['capacity']),
        volume === '' ? '' : accessModes(row.status['accessModes']),
        storageClass(row.object.metadata.annotations, row.spec),
        optionalText(row.spec['volumeAttributesClassName'], unset),
        row.age,
        optionalText(row.spec['volumeMode'], unset),
      ];
    }),
  ],
  [
    'storage.k8s.io/storageclasses',
    printer('!Name, Provisioner, ReclaimPolicy, VolumeBindingMode, AllowVolumeExpansion, Age', (row) => [
      isDefaultClass(row) ? `${row.name} (default)` : row.name,
      textOf(row.object['provisioner']),
      optionalText(row.object['reclaimPolicy'], 'Delete'),
      optionalText(row.object['volumeBindingMode'], 'Immediate'),
      optionalBoolean(row.object['allowVolumeExpansion'], false),
      row.age,
    ]),
  ],
  [
    'storage.k8s.io/volumeattributesclasses',
    printer('!Name, DriverName, Age', ({ object, name, age }) => [name, textOf(object['driverName']), age]),
  ],
  [
    'storage.k8s.io/csidrivers',
    printer(
      '!Name, AttachRequired:b, PodInfoOnMount:b, StorageCapacity:b, TokenRequests, RequiresRepublish:b, Modes, Age',
      ({ name, spec, age }) => [
        name,
        optionalBoolean(spec['attachRequired'], true),
        optionalBoolean(spec['podInfoOnMount'], false),
        optionalBoolean(spec['storageCapacity'], false),
        Array.isArray(spec['tokenRequests'])
          ? itemsOf(spec['tokenRequests'])
              .map((request) => textOf(request['audience']))
              .join(',')
          : unset,
        optionalBoolean(spec['requiresRepublish'], false),
        textsOf(spec['volumeLifecycleModes']).join(',') || none,
        age,
      ],
    ),
  ],
  ['storage.k8s.io/csinodes', printer('!Name, Drivers:i, Age', ({ name, spec, age }) => [name, itemsOf(spec['drivers']).length, age])],
  [
    'storage.k8s.io/volumeattachments',
    printer('!Name, !Attacher, PV, Node, Attached:b, Age', ({ name, spec, status, age }) => [
      name,
      textOf(spec['attacher']),
      textOf(fieldsOf(spec['source'])['persistentVolumeName']),
      textOf(spec['nodeName']),
      status['attached'] === true,
      age,
    ]),
  ],
]);
