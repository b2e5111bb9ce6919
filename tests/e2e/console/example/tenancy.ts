import {
  fleetQuotaKind,
  type KindReference,
  ownerAnnotation,
  type UsageGroup,
  type UsageReport,
  type Workspace,
  workspaceKind,
} from '@capstan/api';
import { ago, identity, noise } from './objects.ts';

const day = 86_400_000;

/** Hours of GPUs in a day: fewer on weekends. */
function gpuHours(time: number): number {
  const isWeekend = [0, 6].includes(new Date(time).getUTCDay());
  return (isWeekend ? 210 : 560) + 180 * noise(time / day);
}

const amounts = (gpus: number, allocations: number) => ({
  gpuSeconds: gpus * 3600,
  coreSeconds: gpus * 22 * 3600,
  memoryGibSeconds: gpus * 200 * 3600,
  storageGibSeconds: gpus * 26 * 3600,
  allocations,
});

const shares: Readonly<Record<Exclude<UsageGroup, 'day'>, readonly (readonly [key: string, share: number])[]>> = {
  workspace: [['root:main:default', 1]],
  offering: [
    ['h100-8', 0.68],
    ['h100-1', 0.21],
    ['whole-node', 0.11],
  ],
  model: [
    ['H100', 0.83],
    ['H200', 0.17],
  ],
};

/** The usage of a workspace since the beginning of a day, such as `2026-11-01`. */
export function usageSince(from: string, groupBy: UsageGroup): UsageReport {
  const now = Date.now();
  const days: number[] = [];
  for (let time = Date.parse(`${from}T00:00:00Z`); time <= now; time += day) days.push(time);
  const total = days.reduce((sum, time) => sum + gpuHours(time), 0);
  const items =
    groupBy === 'day'
      ? days.map((time) => ({ key: new Date(time).toISOString().slice(0, 10), ...amounts(gpuHours(time), 31) }))
      : shares[groupBy].map(([key, share]) => ({ key, ...amounts(total * share, Math.round(420 * share)) }));
  return { from: `${from}T00:00:00Z`, to: new Date(now).toISOString(), groupBy, items, total: amounts(total, 420) };
}

export const workspaces = (
  [
    ['default', 'project', 'ann@example.com'],
    ['vision', 'project', 'ben@example.com'],
    ['nlp', 'team', 'chris@example.com'],
  ] as const
).map(([name, type, creator]) => {
  const { metadata, ...kind } = identity(workspaceKind, name, 50_000);
  return {
    ...kind,
    metadata: { ...metadata, annotations: { [ownerAnnotation]: JSON.stringify({ username: creator }) } },
    spec: { type: { name: type, path: 'root' } },
    status: { phase: 'Ready' },
  } as unknown as Workspace;
});

const rbac: KindReference = {
  group: 'rbac.authorization.k8s.io',
  version: 'v1',
  resource: 'clusterrolebindings',
  namespaced: false,
  kind: 'ClusterRoleBinding',
};

export const bindings = (
  [
    ['cluster-admin', 'User', 'ann@example.com'],
    ['user', 'Group', 'research'],
    ['user', 'User', 'ben@example.com'],
    ['viewer', 'User', 'auditor@example.com'],
  ] as const
).map(([role, kind, name]) => ({
  ...identity(rbac, `${role}-${name.replaceAll(/\W/g, '-')}`, 50_000),
  roleRef: { apiGroup: rbac.group, kind: 'ClusterRole', name: role },
  subjects: [{ apiGroup: rbac.group, kind, name }],
}));

export const quotas = (
  [
    ['root:main', { gpus: 48, storage: '20Ti' }],
    ['root:main:vision', { models: { H100: 16 }, allocations: 100 }],
  ] as const
).map(([workspace, limits], index) => ({
  ...identity(fleetQuotaKind, `quota-${index}`, 50_000),
  spec: { workspace, homes: false, limits },
}));

const records: readonly (readonly [minutes: number, user: string, verb: string, resource: string, name: string, code: number])[] = [
  [1, 'ann@example.com', 'create', 'gpuunits', 'preprocess', 201],
  [9, 'ben@example.com', 'create', 'allocations', 'bench', 201],
  [12, 'auditor@example.com', 'delete', 'gpuunits', 'eval-suite', 403],
  [22, 'ann@example.com', 'create', 'gpuunits', 'sweep-14', 201],
  [25, 'ben@example.com', 'create', 'appoperations', 'lab-repair-2', 201],
  [35, 'ann@example.com', 'create', 'gpustorages', 'imagenet', 201],
  [61, 'ann@example.com', 'create', 'pods/exec', 'notebook', 101],
  [94, 'ann@example.com', 'create', 'gpuunits', 'notebook', 201],
  [130, 'ben@example.com', 'patch', 'appinstances', 'lab', 200],
  [312, 'ann@example.com', 'create', 'gpuunits', 'llama-finetune', 201],
  [760, 'system:serviceaccount:default:nightly', 'create', 'gpustorages', 'datasets-20261116-0600', 201],
];

export const auditEvents = {
  kind: 'EventList',
  apiVersion: 'audit.k8s.io/v1',
  metadata: {},
  items: records.map(([minutes, user, verb, path, name, code], index) => {
    const [resource, subresource] = path.split('/');
    return {
      auditID: `audit-${index}`,
      stage: 'ResponseComplete',
      stageTimestamp: ago(minutes),
      requestReceivedTimestamp: ago(minutes),
      user: { username: user },
      verb,
      requestURI: `/${path}/${name}`,
      objectRef: { resource, namespace: 'default', name, ...(subresource !== undefined && { subresource }) },
      responseStatus: { code },
    };
  }),
};
