import {
  type Allocation,
  allocationKind,
  type ComputeUsage,
  computeUsageKind,
  type GPUStorage,
  type GPUUnit,
  gpuStorageKind,
  gpuUnitKind,
  type Offering,
  offeringKind,
} from '@capstan/api';
import { ago, condition, identity, namespaced } from './objects.ts';

const image = 'registry.example.com/research/train:2026-11';

interface UnitStory {
  readonly name: string;
  readonly minutes: number;
  readonly spec: object;
  readonly status: object;
}

const ran = (minutes: number) => ({ run: 1, restarts: 0, observedGeneration: 1, startedAt: ago(minutes) });
const member = (rank: number, node: string, phase: string, more: object = {}) => ({ rank, node, phase, restarts: 0, ...more });
const holds = (minutes: number) => [
  condition('Allocated', 'True', { reason: 'Active', minutes }),
  condition('Ready', 'True', { reason: 'Running', minutes }),
];

const stories: readonly UnitStory[] = [
  {
    name: 'llama-finetune',
    minutes: 312,
    spec: { offering: 'h100-8', nodes: 2, image, command: ['torchrun', 'finetune.py', '--config', 'llama-70b.yaml'] },
    status: {
      ...ran(308),
      phase: 'Running',
      allocation: 'llama-finetune-7c2d1',
      members: [member(0, 'gpu-01', 'Running'), member(1, 'gpu-02', 'Running')],
      conditions: holds(308),
    },
  },
  {
    name: 'notebook',
    minutes: 94,
    spec: {
      offering: 'h100-1',
      image: 'registry.example.com/research/jupyter:7',
      ports: [{ name: 'http', port: 8888 }],
      access: { port: 'http', scheme: 'http' },
      env: [
        { name: 'HF_HOME', value: '/data/cache' },
        { name: 'WANDB_API_KEY', secret: { name: 'wandb', key: 'token' } },
      ],
      mounts: [{ storage: 'datasets', path: '/data', readOnly: false }],
      idleTimeout: '2h',
    },
    status: {
      ...ran(92),
      phase: 'Running',
      allocation: 'notebook-b91f0',
      access: 'capstan open notebook',
      members: [member(0, 'gpu-03', 'Running')],
      conditions: holds(92),
    },
  },
  {
    name: 'eval-suite',
    minutes: 47,
    spec: { offering: 'h100-1', image, command: ['python3', 'evaluate.py', '--suite', 'full'] },
    status: {
      ...ran(45),
      phase: 'Failed',
      exitCode: 137,
      finishedAt: ago(12),
      message: 'the program needed more memory than it has and was ended',
      members: [
        member(0, 'gpu-03', 'Ended', {
          reason: 'OutOfMemory',
          exitCode: 137,
          lastLines: ['loading 14 shards of the checkpoint', 'torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.50 GiB'],
        }),
      ],
      conditions: [
        condition('Allocated', 'False', { reason: 'Released', minutes: 12 }),
        condition('Ready', 'False', { reason: 'Failed', message: 'the program has ended with 137', minutes: 12 }),
      ],
    },
  },
  {
    name: 'sweep-14',
    minutes: 22,
    spec: { offering: 'h100-8', image, command: ['python3', 'sweep.py', '--index', '14'] },
    status: {
      phase: 'Pending',
      observedGeneration: 1,
      allocation: 'sweep-14-0aa31',
      message: 'needs 8 H100 GPUs on one node; the node with the most free ones has 3',
      conditions: [
        condition('Allocated', 'False', {
          reason: 'Shortage',
          message: 'needs 8 H100 GPUs on one node; the node with the most free ones has 3',
          minutes: 22,
        }),
      ],
    },
  },
  {
    name: 'preprocess',
    minutes: 2,
    spec: { resources: { cpu: '16', memory: '64Gi' }, image: 'registry.example.com/research/etl:12' },
    status: {
      phase: 'Starting',
      observedGeneration: 1,
      run: 1,
      allocation: 'preprocess-66b0e',
      members: [member(0, 'gpu-04', 'Preparing', { step: 'pulling the image: 3.1 of 5.0 GiB' })],
      conditions: [condition('Allocated', 'True', { reason: 'Active', minutes: 2 })],
    },
  },
  {
    name: 'embed-corpus',
    minutes: 1510,
    spec: { offering: 'h100-1', image, command: ['python3', 'embed.py'] },
    status: {
      ...ran(1508),
      phase: 'Succeeded',
      exitCode: 0,
      finishedAt: ago(1240),
      members: [member(0, 'gpu-05', 'Ended', { reason: 'Completed', exitCode: 0 })],
      conditions: [],
    },
  },
];

export const units = stories.map(
  ({ name, minutes, spec, status }) =>
    ({
      ...namespaced(gpuUnitKind, name, minutes),
      spec: { nodes: 1, running: true, restartPolicy: 'Never', network: 'Isolated', ...spec },
      status,
    }) as unknown as GPUUnit,
);

const ownedBy = (unit: string) => [{ apiVersion: 'compute.capstan.dev/v1alpha1', kind: 'GPUUnit', name: unit, uid: `GPUUnit-${unit}` }];

interface Order {
  readonly name: string;
  readonly minutes: number;
  readonly unit?: string;
  readonly offering?: string;
  readonly nodes?: number;
  readonly parts?: readonly (readonly [node: string, gpus: number])[];
  readonly waits?: string;
  /** In minutes: for how long it has been released. */
  readonly released?: number;
}

const orders: readonly Order[] = [
  {
    name: 'sweep-14-0aa31',
    unit: 'sweep-14',
    minutes: 22,
    offering: 'h100-8',
    waits: 'needs 8 H100 GPUs on one node; the node with the most free ones has 3',
  },
  { name: 'bench', minutes: 9, offering: 'h100-8', nodes: 4, waits: 'root:main may have 32 GPUs and has 27; this order needs 32' },
  {
    name: 'llama-finetune-7c2d1',
    unit: 'llama-finetune',
    minutes: 312,
    offering: 'h100-8',
    nodes: 2,
    parts: [
      ['gpu-01', 8],
      ['gpu-02', 8],
    ],
  },
  { name: 'notebook-b91f0', unit: 'notebook', minutes: 94, offering: 'h100-1', parts: [['gpu-03', 1]] },
  { name: 'preprocess-66b0e', unit: 'preprocess', minutes: 2, parts: [['gpu-04', 0]] },
  { name: 'sweep-1', minutes: 300, offering: 'h200-quarter', released: 1, parts: [['gpu-05', 2]] },
  { name: 'slurm-head', minutes: 4300, offering: 'whole-node', parts: [['gpu-08', 8]] },
  {
    name: 'slurm-workers',
    minutes: 4300,
    offering: 'whole-node',
    nodes: 2,
    parts: [
      ['gpu-09', 8],
      ['gpu-10', 8],
    ],
  },
];

export const allocations = orders.map(({ name, minutes, unit, offering, nodes = 1, parts, waits, released }) => {
  const { metadata, ...type } = namespaced(allocationKind, name, minutes);
  return {
    ...type,
    metadata: {
      ...metadata,
      ...(unit !== undefined && { ownerReferences: ownedBy(unit) }),
      ...(released !== undefined && { deletionTimestamp: ago(released) }),
    },
    spec: { priority: 0, nodes, ...(offering === undefined ? { resources: { cpu: '16', memory: '64Gi' } } : { offering }) },
    status: {
      phase: released !== undefined ? 'Releasing' : waits === undefined ? 'Active' : 'Pending',
      message: waits ?? '',
      parts: (parts ?? []).map(([node, gpus]) => ({ node, devices: Array.from({ length: gpus }, (_, index) => `GPU-${node}-${index}`) })),
    },
  } as unknown as Allocation;
});

export const offerings = [
  { name: 'h100-1', spec: { gpu: { model: 'H100', count: 1 }, exclusive: false } },
  { name: 'h100-8', spec: { gpu: { model: 'H100', count: 8, nvlink: 'Required' }, exclusive: false } },
  { name: 'h200-quarter', spec: { gpu: { model: 'H200' }, fraction: 4, exclusive: false } },
  { name: 'whole-node', spec: { gpu: { count: 8 }, exclusive: true } },
].map(({ name, spec }) => ({ ...identity(offeringKind, name, 90_000), spec }) as unknown as Offering);

const tebi = 2 ** 40;

interface StorageStory {
  readonly name: string;
  readonly minutes: number;
  readonly size: string;
  readonly spec?: object;
  readonly status: object;
}

const kept = (share: number, of: number, node = 'gpu-03') => ({
  phase: 'Ready',
  node,
  capacityBytes: of * tebi,
  usedBytes: Math.round(share * of * tebi),
});
const usable = [
  condition('Ready', 'True', { reason: 'Mounted', minutes: 90 }),
  condition('InUse', 'True', { reason: 'Mounted', minutes: 90 }),
];

const storageStories: readonly StorageStory[] = [
  { name: 'datasets', minutes: 40_000, size: '2Ti', status: { ...kept(0.71, 2), mountedBy: ['notebook'], conditions: usable } },
  {
    name: 'checkpoints',
    minutes: 40_000,
    size: '8Ti',
    spec: { deletionPolicy: 'Retain' },
    status: { ...kept(0.87, 8, 'gpu-01'), mountedBy: ['llama-finetune'] },
  },
  {
    name: 'datasets-20261115-0600',
    minutes: 2200,
    size: '2Ti',
    spec: { snapshotOf: { name: 'datasets' } },
    status: { ...kept(0.69, 2), takenAt: ago(2199) },
  },
  {
    name: 'datasets-20261116-0600',
    minutes: 760,
    size: '2Ti',
    spec: { snapshotOf: { name: 'datasets' } },
    status: { ...kept(0.71, 2), takenAt: ago(759) },
  },
  {
    name: 'imagenet',
    minutes: 35,
    size: '1Ti',
    spec: { prepare: { url: { url: 'https://example.com/imagenet.tar' } } },
    status: {
      phase: 'Failed',
      node: 'gpu-05',
      recoverable: true,
      message: 'the download of https://example.com/imagenet.tar was refused with 403',
    },
  },
];

export const storages = storageStories.map(
  ({ name, minutes, size, spec, status }) =>
    ({
      ...namespaced(gpuStorageKind, name, minutes),
      spec: { size, class: 'local', deletionPolicy: 'Delete', recover: 0, ...spec },
      status,
    }) as unknown as GPUStorage,
);

export const usedLimits: readonly ComputeUsage[] = [
  {
    ...identity(computeUsageKind, 'current', 4000),
    status: {
      updatedAt: ago(2),
      limits: [
        { workspace: 'root:main', resource: 'gpus', limit: 48, used: 41 },
        { workspace: 'root:main', resource: 'storage', limit: 20 * tebi, used: 11 * tebi },
        { workspace: 'root:main:default', resource: 'allocations', limit: 50, used: 7 },
      ],
    },
  } as ComputeUsage,
];
