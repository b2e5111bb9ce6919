import { asAllocationId, type GPUNode, gpuNodeKind, type NodeBooking, type NodeGpu, type NodeMetrics, nodeBookingKind } from '@capstan/api';
import { ago, condition, identity, noise } from './objects.ts';

const gpusPerNode = 8;
const memoryBytes = 80 * 2 ** 30;
const gpuId = (node: string, index: number): string => `GPU-${node}-${index}`;

interface MigStory {
  readonly profile: string;
  readonly owner?: readonly [workspace: string, allocation: string];
}

interface NodeStory {
  readonly name: string;
  readonly model?: string;
  readonly pool?: string;
  readonly spec?: GPUNode['spec'];
  readonly silentFor?: number;
  /** GPUs that are not healthy, by index. */
  readonly ill?: Readonly<Record<number, NodeGpu['health']>>;
  /** Instances of a divided GPU, by its index, with the owner of each. */
  readonly divided?: Readonly<Record<number, readonly MigStory[]>>;
  /** Owners with the number of GPUs that each has, in order. */
  readonly booked: readonly (readonly [workspace: string, allocation: string, gpus: number, state?: 'Granted' | 'Cleaning'])[];
}

const stories: readonly NodeStory[] = [
  { name: 'gpu-01', booked: [['root:main:default', 'llama-finetune-7c2d1', 8]] },
  { name: 'gpu-02', booked: [['root:main:default', 'llama-finetune-7c2d1', 8]] },
  {
    name: 'gpu-03',
    booked: [
      ['root:main:default', 'notebook-b91f0', 1],
      ['root:main:vision', 'segment-04e7a', 4],
    ],
  },
  {
    name: 'gpu-04',
    ill: {
      5: { state: 'Degraded', reason: 'RowRemapPending', message: 'GPU 5 has remapped memory and needs a reset', since: ago(190) },
    },
    divided: { 6: [{ profile: '3g.40gb', owner: ['root:main:nlp', 'tutorial-5d2aa'] }, { profile: '3g.40gb' }] },
    booked: [['root:main:nlp', 'pretrain-31d9c', 4]],
  },
  {
    name: 'gpu-05',
    model: 'H200',
    booked: [
      ['root:main:vision', 'sweep-2', 2],
      ['root:main:default', 'sweep-1', 2, 'Cleaning'],
    ],
  },
  { name: 'gpu-06', model: 'H200', booked: [], spec: { unschedulable: true } },
  {
    name: 'gpu-07',
    model: 'H200',
    silentFor: 14,
    ill: { 2: { state: 'Failed', reason: 'Xid79', message: 'GPU 2 has fallen off the bus', since: ago(15) } },
    booked: [['root:main:nlp', 'serve-9be11', 2]],
  },
  { name: 'gpu-08', booked: [['root:main:default', 'slurm-head', 8]] },
  { name: 'gpu-09', booked: [['root:main:default', 'slurm-workers', 8]] },
  {
    name: 'gpu-10',
    ill: { 3: { state: 'Failed', reason: 'Xid79', message: 'GPU 3 has fallen off the bus', since: ago(31) } },
    booked: [['root:main:default', 'slurm-workers', 8]],
  },
];

const migId = (node: string, gpu: number, index: number): string => `MIG-${node}-${gpu}-${index}`;

function gpusOf({ name, model = 'H100', ill = {}, divided = {} }: NodeStory): readonly NodeGpu[] {
  return Array.from({ length: gpusPerNode }, (_, index) => ({
    uuid: gpuId(name, index),
    model,
    productName: `NVIDIA ${model} 80GB HBM3`,
    memoryBytes,
    pciBusId: `0000:${(0x18 + index * 8).toString(16)}:00.0`,
    linkGroup: 'nvlink-0',
    ...(divided[index] !== undefined && {
      mig: {
        mode: 'enabled' as const,
        devices: divided[index].map(({ profile }, instance) => ({
          uuid: migId(name, index, instance),
          profile,
          memoryBytes: memoryBytes / 2,
        })),
      },
    }),
    health: ill[index] ?? { state: 'Healthy', reason: 'Healthy', message: '', since: ago(9000) },
  }));
}

function nodeOf(story: NodeStory): GPUNode {
  const { name, model = 'H100', silentFor, ill = {}, spec } = story;
  const sick = Object.values(ill)[0];
  return {
    ...identity(gpuNodeKind, name, 9000),
    spec: { pool: model === 'H200' ? 'inference' : 'training', ...spec },
    status: {
      identity: {
        generation: 1,
        currentKey: 'a',
        enrollment: 'e',
        renewedAt: ago(600),
        expiresAt: ago(-600),
      },
      machine: {
        hostname: name,
        cpus: 192,
        memoryBytes: 2 * 2 ** 40,
        os: 'Ubuntu 24.04.2 LTS',
        kernel: '6.8.0-60-generic',
        architecture: 'amd64',
        agentVersion: '0.1.0',
      },
      gpuSummary: `${gpusPerNode}×${model}`,
      gpus: gpusOf(story),
      drivers: [{ source: 'nvidia', version: '580.65.06', runtime: 'CUDA 13.0' }],
      unitDrivers: [
        { name: 'exec', isolation: 'full' },
        { name: 'container', isolation: 'full' },
      ],
      addresses: [{ interface: 'bond0', address: `10.20.0.${Number(name.slice(-2)) + 10}` }],
      conditions: [
        silentFor === undefined
          ? condition('Ready', 'True', { reason: 'Heard', minutes: 9000 })
          : condition('Ready', 'False', {
              reason: 'Silent',
              message: `its agent was last heard ${silentFor} minutes ago`,
              minutes: silentFor,
            }),
        sick === undefined
          ? condition('GPUsHealthy', 'True', { reason: 'Healthy', minutes: 9000 })
          : condition('GPUsHealthy', 'False', { reason: sick.reason, message: sick.message, minutes: 190 }),
        condition('Clean', 'True', { reason: 'Clean', minutes: 9000 }),
        condition('AgentSupported', 'True', { reason: 'Supported', minutes: 9000 }),
      ],
    },
  } as GPUNode;
}

function bookingOf({ name, booked, divided = {} }: NodeStory): NodeBooking {
  let next = 0;
  const entryOf = (path: string, allocation: string, devices: readonly string[], state: string) => ({
    allocation: { cluster: path, path, namespace: 'default', name: allocation, uid: asAllocationId(`${allocation}-uid`) },
    attempt: 'a1',
    state,
    devices,
    cpu: devices.length * 22_000,
    memory: devices.length * 200 * 2 ** 30,
  });
  const whole = booked.map(([path, allocation, gpus, state = 'Granted']) =>
    entryOf(
      path,
      allocation,
      Array.from({ length: gpus }, () => gpuId(name, next++)),
      state,
    ),
  );
  const parts = Object.entries(divided).flatMap(([gpu, instances]) =>
    instances.flatMap(({ owner }, index) => (owner === undefined ? [] : [entryOf(...owner, [migId(name, Number(gpu), index)], 'Granted')])),
  );
  return { ...identity(nodeBookingKind, name, 9000), spec: { entries: [...whole, ...parts] } } as unknown as NodeBooking;
}

export const nodes = stories.map(nodeOf);
export const bookings = stories.map(bookingOf);

/** The first GPU of each node draws the most. */
const load = (node: string, index: number): number => 0.62 + 0.36 * noise(Number(node.slice(-2)) * 10 + index);

/** The Prometheus text of all GPUs that are in use. */
export const nodeReadings = stories
  .filter(({ silentFor }) => silentFor === undefined)
  .flatMap(({ name, booked, ill = {} }) => {
    const used = booked.reduce((sum, [, , gpus, state]) => sum + (state === 'Cleaning' ? 0 : gpus), 0);
    const answering = Array.from({ length: gpusPerNode }, (_, index) => index).filter((index) => ill[index]?.state !== 'Failed');
    return answering.map((index) => {
      const share = index < used ? load(name, index) : 0;
      const line = (metric: string, value: number): string => `capstan_gpu_${metric}{node="${name}",gpu="${gpuId(name, index)}"} ${value}`;
      return [
        line('utilization_ratio', share),
        line('memory_used_bytes', Math.round(memoryBytes * share * 0.93)),
        line('memory_total_bytes', memoryBytes),
        line('temperature_celsius', 31 + 36 * share),
        line('power_watts', 74 + 580 * share),
      ].join('\n');
    });
  })
  .join('\n');

const mean = (value: number) => ({ mean: value, max: value });

/** Six hours of the GPUs of a node. */
export function nodeHistory(node: string): NodeMetrics {
  return {
    node,
    at: ago(0),
    gpus: Array.from({ length: gpusPerNode }, (_, index) => ({
      uuid: gpuId(node, index),
      model: 'H100',
      health: 'Healthy',
      points: Array.from({ length: 180 }, (_, step) => {
        const wave = step < 40 ? 0 : 0.8 + 0.13 * Math.sin(step / 9 + index / 3) + 0.06 * noise(step * 8 + index);
        return {
          at: ago((180 - step) * 2),
          samples: 12,
          utilizationPercent: mean(Math.min(100, wave * 100)),
          memoryUsedBytes: mean(memoryBytes * (step < 40 ? 0.01 : 0.72 + 0.02 * noise(step + index))),
          temperatureCelsius: mean(31 + 34 * wave + index / 2),
          powerWatts: mean(74 + 560 * wave),
        };
      }),
    })),
  };
}
