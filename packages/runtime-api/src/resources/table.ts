import {
  allocationKind,
  allocationPhases,
  gpuNodeKind,
  gpuStorageKind,
  gpuUnitKind,
  offeringKind,
  storagePhases,
  unitPhases,
} from '@capstan/api';
import type { RestResource } from './resource.ts';

/** Everything that the REST API offers of kinds. Routes, documentation and the client follow this table. */
export const restResources: readonly RestResource[] = [
  {
    path: 'gpu-units',
    kind: gpuUnitKind,
    singular: 'GpuUnit',
    plural: 'GpuUnits',
    place: 'caller',
    verbs: ['list', 'get', 'create', 'replace', 'patch', 'delete'],
    namePrefix: 'unit-',
    phases: unitPhases,
    actions: [
      { name: 'stop', summary: 'Stop a unit and release its allocation. Storages stay.', spec: { running: false } },
      { name: 'start', summary: 'Start a unit that was stopped.', spec: { running: true } },
    ],
    hasLogs: true,
  },
  {
    path: 'gpu-storages',
    kind: gpuStorageKind,
    singular: 'GpuStorage',
    plural: 'GpuStorages',
    place: 'caller',
    verbs: ['list', 'get', 'create', 'replace', 'patch', 'delete'],
    namePrefix: 'storage-',
    phases: storagePhases,
    actions: [
      {
        name: 'recover',
        summary: 'Repeat a preparation that failed, or repair a damaged file system.',
        spec: ({ recover }) => ({ recover: Number(recover ?? 0) + 1 }),
      },
    ],
  },
  {
    path: 'allocations',
    kind: allocationKind,
    singular: 'Allocation',
    plural: 'Allocations',
    place: 'caller',
    verbs: ['list', 'get', 'create', 'delete'],
    namePrefix: 'allocation-',
    phases: allocationPhases,
  },
  {
    path: 'offerings',
    kind: offeringKind,
    singular: 'Offering',
    plural: 'Offerings',
    place: 'caller',
    verbs: ['list', 'get'],
    namePrefix: 'offering-',
  },
  {
    path: 'operator/nodes',
    kind: gpuNodeKind,
    singular: 'Node',
    plural: 'Nodes',
    place: 'platform',
    verbs: ['list', 'get', 'patch'],
    namePrefix: 'node-',
  },
];
