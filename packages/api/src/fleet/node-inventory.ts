import { timestamp } from '../definition/common.ts';
import { choice, flag, integer, keyedList, list, object, optional, type ReadOf, text } from '../definition/schema.ts';
import { gpuHealthStates } from './gpus.ts';

/** Parts of `GPUNode.status` that the agent reports. */

const mostGpus = 128;
const gpuUuid = (description: string) => text(description, { minLength: 1, maxLength: 128 });

const health = object('Whether the GPU can be used.', {
  state: choice('`Degraded` GPUs work and need attention; `Failed` and `Missing` ones get no work.', [...gpuHealthStates]),
  reason: text('A word for programs, such as `RowRemapFailed` or `Xid79`.', { maxLength: 64 }),
  message: text('Details for people.', { maxLength: 1024 }),
  since: timestamp('Time at which the state last changed.'),
});

const migDevice = object('An instance of a divided GPU.', {
  uuid: gpuUuid('UUID of the instance.'),
  profile: text('Its profile, such as `3g.40gb`.', { maxLength: 64 }),
  memoryBytes: integer('Its memory, in bytes.', { minimum: 0 }),
});

const gpu = object('A GPU.', {
  uuid: gpuUuid('Identifier that the vendor gave it.'),
  health,
  model: optional(text('Short name that requests use, such as `H200`. Absent if the GPU could never be read.', { maxLength: 63 })),
  productName: optional(text('Full name of the product.', { maxLength: 253 })),
  memoryBytes: optional(integer('Memory, in bytes.', { minimum: 0 })),
  pciBusId: optional(text('Address on the PCI bus. Declared GPUs have none.', { maxLength: 32 })),
  linkGroup: optional(text('GPUs with the same value are connected by NVLink or XGMI.', { maxLength: 63 })),
  numaNode: optional(integer('NUMA node.', { minimum: 0 })),
  deviceFiles: optional(list('Device files that a program needs for this GPU alone.', text('Path.', { maxLength: 253 }), { maxItems: 16 })),
  mig: optional(
    object('How the GPU is divided.', {
      mode: choice('Whether it is divided.', ['enabled', 'disabled', 'unsupported']),
      devices: list('Its instances.', migDevice, { maxItems: 16 }),
    }),
  ),
});

export const nodeGpus = keyedList('GPUs of the node. Missing ones stay in the list until an owner removes them.', gpu, {
  keys: ['uuid'],
  maxItems: mostGpus,
});

export const nodeDrivers = keyedList(
  'Drivers of the GPUs.',
  object('One driver.', {
    source: choice('Vendor, or `declared` for GPUs that a file declares.', ['nvidia', 'amd', 'declared']),
    version: optional(text('Version of the driver.', { maxLength: 63 })),
    runtime: optional(text('Runtime that the driver supports, such as `CUDA 13.0`.', { maxLength: 63 })),
  }),
  { keys: ['source'], maxItems: 3 },
);

export const nodeMachine = object('The machine.', {
  hostname: text('Host name.', { maxLength: 253 }),
  cpus: integer('Number of processors.', { minimum: 0 }),
  memoryBytes: integer('Memory, in bytes.', { minimum: 0 }),
  os: text('Operating system, such as `Ubuntu 24.04.2 LTS`.', { maxLength: 253 }),
  kernel: text('Version of the kernel.', { maxLength: 253 }),
  architecture: text('Architecture, such as `amd64`.', { maxLength: 63 }),
  agentVersion: text('Version of the node agent.', { maxLength: 63 }),
  upgradable: optional(
    flag(
      'Whether the agent can replace itself, because it was installed with the command of `capstan node enroll`. Absent with older agents.',
    ),
  ),
  bootId: optional(text('Changes with every start of the machine.', { maxLength: 63 })),
});

export const nodeAddresses = list(
  'Addresses of the machine.',
  object('One address.', {
    interface: text('Network interface.', { maxLength: 63 }),
    address: text('IP address.', { maxLength: 63 }),
  }),
  { maxItems: 64 },
);

/** How much of the isolation of units a node offers. */
export const unitIsolations = ['full', 'none'] as const;
export type UnitIsolation = (typeof unitIsolations)[number];

export const nodeUnitDrivers = keyedList(
  'Drivers that run units on the node.',
  object('One driver.', {
    name: choice('`exec` runs commands on the file system of the node, `container` runs images.', ['exec', 'container']),
    isolation: optional(
      choice('How units are separated from each other and the node. Absent if the driver cannot be used.', [...unitIsolations]),
    ),
    message: optional(text('The missing part, for people.', { maxLength: 1024 })),
  }),
  { keys: ['name'], maxItems: 2 },
);

/** A GPU in the status of a node. */
export type NodeGpu = ReadOf<typeof gpu>;
export type NodeDriver = ReadOf<typeof nodeDrivers>[number];
export type NodeUnitDriver = ReadOf<typeof nodeUnitDrivers>[number];
export type NodeMachine = ReadOf<typeof nodeMachine>;
export type NodeAddress = ReadOf<typeof nodeAddresses>[number];
