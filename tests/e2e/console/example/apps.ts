import {
  type AppInstance,
  type AppMember,
  type AppOperation,
  type AppStep,
  appInstanceKind,
  appMemberKind,
  appOperationKind,
} from '@capstan/api';
import { ago, condition, namespaced } from './objects.ts';

const lab: AppInstance = {
  ...namespaced(appInstanceKind, 'lab', 4200),
  spec: { app: 'slurm', version: 'debian', placement: {}, stopped: false, paused: false },
  status: {
    state: 'running',
    health: 'degraded',
    phase: 'ready',
    message: 'gpu-10 is drained: one of its GPUs has failed',
    version: 'debian',
    revision: 'a',
    members: { total: 3, healthy: 2 },
    operations: 2,
    lastOperation: {
      id: 'lab-deploy-1',
      type: 'deploy',
      state: 'succeeded',
      startedAt: ago(4200),
      finishedAt: ago(4192),
      progress: { completed: 9, total: 9 },
    },
    allowedActions: [
      { action: 'retry', title: 'Try the failed steps again', isDestructive: false },
      { action: 'acknowledge', title: 'Take the problems off the list', isDestructive: false },
      { action: 'reconcile', title: 'Make everything as it should be', isDestructive: false },
      ...['lab-gpu-08', 'lab-gpu-09', 'lab-gpu-10'].map((member) => ({
        action: 'repair',
        member,
        title: 'Repair the member',
        isDestructive: false,
      })),
      ...['lab-gpu-09', 'lab-gpu-10'].map((member) => ({ action: 'drain', member, title: 'Drain', isDestructive: false })),
      { action: 'undrain', member: 'lab-gpu-09', title: 'Take jobs again', isDestructive: false },
      { action: 'restart-controller', title: 'Restart the controller', isDestructive: false },
    ],
    constraints: [
      ...['drain', 'undrain'].map((action) => ({
        action,
        member: 'lab-gpu-08',
        reason: 'NotANode',
        message: 'lab-gpu-08 runs no jobs',
      })),
      { action: 'undrain', member: 'lab-gpu-10', reason: 'GpuUnhealthy', message: 'the GPU GPU-gpu-10-3 is out of order' },
    ],
    access: {
      endpoints: [{ name: 'slurmctld', address: '10.20.0.18:6817' }],
      shell: 'lab-gpu-08',
      notes: ['Log in to gpu-08, and submit jobs to the partition gpu: srun --gres=gpu:1 nvidia-smi'],
    },
    conditions: [
      condition('Ready', 'True', { reason: 'Deployed', minutes: 4192 }),
      condition('Healthy', 'False', { reason: 'MemberDrained', message: 'gpu-10 is drained: one of its GPUs has failed', minutes: 31 }),
    ],
  },
} as unknown as AppInstance;

const cluster: AppInstance = {
  ...namespaced(appInstanceKind, 'inference', 3),
  spec: { app: 'k3s', version: 'v1.34.1+k3s1', placement: {}, stopped: false, paused: false },
  status: {
    state: 'deploying',
    health: 'progressing',
    phase: 'server_bootstrapping',
    message: 'the first server starts',
    members: { total: 4, healthy: 0 },
    progress: { completed: 5, total: 14 },
    allowedActions: [{ action: 'cancel', title: 'Cancel the operation', isDestructive: true }],
    lastOperation: {
      id: 'inference-deploy-1',
      type: 'deploy',
      state: 'processing',
      step: 'Start the server',
      startedAt: ago(3),
      progress: { completed: 5, total: 14 },
    },
    conditions: [condition('Ready', 'False', { reason: 'Deploying', message: 'the first server starts', minutes: 3 })],
  },
} as unknown as AppInstance;

const serving: AppInstance = {
  ...namespaced(appInstanceKind, 'serving', 9000),
  spec: { app: 'k3s', version: 'v1.34.1+k3s1', placement: {}, stopped: false, paused: false },
  status: {
    state: 'running',
    health: 'healthy',
    phase: 'ready',
    version: 'v1.34.1+k3s1',
    revision: 'a',
    members: { total: 3, healthy: 3 },
    allowedActions: [
      { action: 'reconcile', title: 'Make everything as it should be', isDestructive: false },
      { action: 'snapshot', title: 'Save a snapshot', isDestructive: false },
      { action: 'restore', title: 'Restore a snapshot', isDestructive: true },
      { action: 'rotate-certificates', title: 'Renew certificates', isDestructive: false },
    ],
    access: { endpoints: [{ name: 'api', address: 'https://10.20.0.31:6443' }], kubeconfig: true },
    conditions: [condition('Ready', 'True', { reason: 'Deployed', minutes: 8990 })],
  },
} as unknown as AppInstance;

const archive: AppInstance = {
  ...namespaced(appInstanceKind, 'archive', 30_000),
  spec: { app: 'slurm', version: 'debian', placement: {}, stopped: true, paused: true },
  status: { state: 'stopped', health: 'healthy', phase: 'stopped', version: 'debian', revision: 'a', members: { total: 2, healthy: 2 } },
} as unknown as AppInstance;

/** Its node is gone, so that a person has to decide. */
const retired: AppInstance = {
  ...namespaced(appInstanceKind, 'retired', 60_000),
  spec: { app: 'slurm', version: 'debian', placement: {}, stopped: false, paused: false },
  status: {
    state: 'removing',
    health: 'unknown',
    phase: 'removing',
    message: 'gpu-12 does not answer, so what is on it cannot be removed',
    version: 'debian',
    revision: 'a',
    members: { total: 1, healthy: 0 },
    lastOperation: { id: 'retired-decommission-4', type: 'decommission', state: 'needs_intervention', startedAt: ago(90) },
    allowedActions: [
      { action: 'resume', title: 'Go on after an intervention', isDestructive: false },
      { action: 'force-delete', title: 'Delete without removing the rest', isDestructive: true },
    ],
  },
} as unknown as AppInstance;

export const instances = [lab, cluster, serving, archive, { ...retired, metadata: { ...retired.metadata, deletionTimestamp: ago(90) } }];

const member = (node: string, component: string, status: object): AppMember =>
  ({
    ...namespaced(appMemberKind, `lab-${node}`, 4200),
    spec: { instance: 'lab', component, node, allocation: component === 'controller' ? 'slurm-head' : 'slurm-workers' },
    status: {
      state: 'running',
      health: 'healthy',
      address: `10.20.0.${Number(node.slice(-2)) + 10}`,
      lastOperation: { id: 'lab-deploy-1', type: 'deploy', state: 'succeeded' },
      ...status,
    },
  }) as unknown as AppMember;

export const members = [
  member('gpu-08', 'controller', { endpoint: '10.20.0.18:6817' }),
  member('gpu-09', 'compute', {}),
  member('gpu-10', 'compute', {
    state: 'draining',
    health: 'degraded',
    message: 'one of its GPUs has failed, so it takes no new jobs',
    reported: { source: 'agent/gpu-10', healthy: false, message: 'GPU 3 has fallen off the bus', reportedAt: ago(1), expiresAt: ago(-4) },
  }),
];

const titles: readonly (readonly [title: string, stage: number, members: readonly string[], seconds: number])[] = [
  ['Check the machine', 0, ['lab-gpu-08', 'lab-gpu-09', 'lab-gpu-10'], 3],
  ['Install Slurm and munge', 1, ['lab-gpu-08', 'lab-gpu-09', 'lab-gpu-10'], 41],
  ['Write the configuration', 2, ['lab-gpu-08'], 1],
  ['Start the controller', 3, ['lab-gpu-08'], 6],
  ['Join the cluster', 4, ['lab-gpu-09', 'lab-gpu-10'], 9],
];

function steps(state: AppStep['state']): readonly AppStep[] {
  return titles.flatMap(([title, stage, on, seconds]) =>
    on.map((name) => ({
      id: `${title.toLowerCase().replaceAll(' ', '-')}-${name}`,
      title,
      stage,
      member: name,
      state,
      ...(state !== 'pending' && { node: name.replace('lab-', ''), task: `app-${title.toLowerCase().replaceAll(' ', '-')}` }),
      ...(state === 'succeeded' && { startedAt: ago(4200 - stage), finishedAt: ago(4200 - stage - seconds / 60), attempts: 1 }),
    })),
  );
}

interface OperationStory {
  readonly name: string;
  readonly minutes: number;
  readonly spec: object;
  readonly status: object;
}

const operation = ({ name, minutes, spec, status }: OperationStory): AppOperation =>
  ({
    ...namespaced(appOperationKind, name, minutes),
    spec: { instance: 'lab', type: 'deploy', dryRun: false, cancelled: false, ...spec },
    status,
  }) as unknown as AppOperation;

const failure = {
  code: 'GpuMissing',
  member: 'lab-gpu-10',
  step: 'Check the GPUs',
  message: 'gpu-10 should have 8 GPUs and has 7',
  output: 'Unable to determine the device handle for GPU 0000:5d:00.0: GPU is lost. Reboot the system to recover this GPU',
  task: 'gpu-10/app-lab-4',
  userFixable: false,
  retryable: true,
};

/** The output of a step. */
export const stepOutput = [
  '$ capstan-slurm-check --gpus 8',
  'driver 580.65.06, CUDA 13.0',
  ...Array.from({ length: 7 }, (_, index) => `GPU ${index < 3 ? index : index + 1}: NVIDIA H100 80GB HBM3, 81559 MiB, no errors`),
  failure.output,
  failure.message,
].join('\n');

/** The plan of a deployment, which a person looks at in the catalog. */
export const plan = operation({
  name: 'plan',
  minutes: 0,
  spec: { instance: 'lab-2', dryRun: true },
  status: { state: 'succeeded', steps: steps('pending'), startedAt: ago(0), finishedAt: ago(0) },
});

export const operations = [
  plan,
  operation({
    name: 'lab-repair-2',
    minutes: 25,
    spec: { type: 'repair', member: 'lab-gpu-10' },
    status: {
      state: 'failed',
      sequence: 2,
      startedAt: ago(25),
      finishedAt: ago(24),
      errors: [failure],
      steps: [{ ...steps('failed')[2]!, title: 'Check the GPUs' }],
    },
  }),
  operation({
    name: 'lab-deploy-1',
    minutes: 4200,
    spec: {},
    status: {
      state: 'succeeded',
      sequence: 1,
      startedAt: ago(4200),
      finishedAt: ago(4192),
      steps: steps('succeeded'),
      progress: { completed: 9, total: 9 },
    },
  }),
];
