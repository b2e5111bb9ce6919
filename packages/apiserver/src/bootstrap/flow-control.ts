import { nodeAgentGroup } from '@capstan/api';
import type { KubeObject } from '@capstan/machinery';

const apiVersion = 'flowcontrol.apiserver.k8s.io/v1';
export const autoupdateSpecAnnotation = 'apf.kubernetes.io/autoupdate-spec';
/** The server falls back on these two, so nobody may change them. */
export const mandatoryFlowControl = new Set(['exempt', 'catch-all']);

interface Level {
  readonly shares: number;
  readonly lendable: number;
  /** The number of queues and the hand size; undefined for a level that rejects immediately. */
  readonly queuing?: readonly [number, number];
}

/** The level and the schema of our node agents. */
const nodeAgents = 'capstan-node-agents';

const levels: Readonly<Record<string, Level>> = {
  [nodeAgents]: { shares: 40, lendable: 25, queuing: [64, 6] },
  'catch-all': { shares: 5, lendable: 0 },
  'global-default': { shares: 20, lendable: 50, queuing: [128, 6] },
  'leader-election': { shares: 10, lendable: 0, queuing: [16, 4] },
  'node-high': { shares: 40, lendable: 25, queuing: [64, 6] },
  system: { shares: 30, lendable: 33, queuing: [64, 6] },
  'workload-high': { shares: 40, lendable: 50, queuing: [128, 6] },
  'workload-low': { shares: 100, lendable: 90, queuing: [128, 6] },
};

const group = (name: string): object => ({ kind: 'Group', group: { name } });
const user = (name: string): object => ({ kind: 'User', user: { name } });
const systemServiceAccounts = { kind: 'ServiceAccount', serviceAccount: { namespace: 'kube-system', name: '*' } };
const everybody = [group('system:unauthenticated'), group('system:authenticated')];
const everything = {
  resourceRules: [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'], clusterScope: true, namespaces: ['*'] }],
  nonResourceRules: [{ verbs: ['*'], nonResourceURLs: ['*'] }],
};
const leases = (verbs: string[]): object => ({ verbs, apiGroups: ['coordination.k8s.io'], resources: ['leases'], namespaces: ['*'] });

interface Schema {
  readonly level: string;
  readonly precedence: number;
  readonly distinguisher?: 'ByUser' | 'ByNamespace';
  readonly subjects: readonly object[];
  readonly rules?: object;
}

const schemas: Readonly<Record<string, Schema>> = {
  exempt: { level: 'exempt', precedence: 1, subjects: [group('system:masters')] },
  probes: {
    level: 'exempt',
    precedence: 2,
    subjects: everybody,
    rules: { nonResourceRules: [{ verbs: ['get'], nonResourceURLs: ['/healthz', '/readyz', '/livez'] }] },
  },
  'system-leader-election': {
    level: 'leader-election',
    precedence: 100,
    distinguisher: 'ByUser',
    subjects: [user('system:kube-controller-manager'), user('system:kube-scheduler'), systemServiceAccounts],
    rules: { resourceRules: [leases(['get', 'create', 'update'])] },
  },
  'system-node-high': {
    level: 'node-high',
    precedence: 400,
    distinguisher: 'ByUser',
    subjects: [group('system:nodes')],
    rules: {
      resourceRules: [
        { verbs: ['*'], apiGroups: [''], resources: ['nodes', 'nodes/status'], clusterScope: true, namespaces: ['*'] },
        leases(['*']),
      ],
    },
  },
  'system-nodes': { level: 'system', precedence: 500, distinguisher: 'ByUser', subjects: [group('system:nodes')] },
  [nodeAgents]: { level: nodeAgents, precedence: 500, distinguisher: 'ByUser', subjects: [group(nodeAgentGroup)] },
  'kube-controller-manager': {
    level: 'workload-high',
    precedence: 800,
    distinguisher: 'ByNamespace',
    subjects: [user('system:kube-controller-manager')],
  },
  'kube-scheduler': { level: 'workload-high', precedence: 800, distinguisher: 'ByNamespace', subjects: [user('system:kube-scheduler')] },
  'kube-system-service-accounts': {
    level: 'workload-high',
    precedence: 900,
    distinguisher: 'ByNamespace',
    subjects: [systemServiceAccounts],
  },
  'service-accounts': { level: 'workload-low', precedence: 9000, distinguisher: 'ByUser', subjects: [group('system:serviceaccounts')] },
  'global-default': { level: 'global-default', precedence: 9900, distinguisher: 'ByUser', subjects: everybody },
  'catch-all': { level: 'catch-all', precedence: 10_000, distinguisher: 'ByUser', subjects: everybody },
};

const metadata = (name: string): KubeObject['metadata'] => ({ name, annotations: { [autoupdateSpecAnnotation]: 'true' } });

/**
 * Kubernetes' flow schemas and priority levels, and those of node agents. They are only served. Our own limits are simpler: kubelets and node
 * agents have places of their own, and everybody else takes turns.
 */
export function flowControlObjects(now: Date): KubeObject[] {
  return [
    {
      kind: 'PriorityLevelConfiguration',
      apiVersion,
      metadata: metadata('exempt'),
      spec: { type: 'Exempt', exempt: { nominalConcurrencyShares: 0, lendablePercent: 0 } },
      status: {},
    },
    ...Object.entries(levels).map(([name, level]) => priorityLevel(name, level)),
    ...Object.entries(schemas).map(([name, schema]) => flowSchema(name, schema, now)),
  ];
}

function priorityLevel(name: string, { shares, lendable, queuing }: Level): KubeObject {
  const limitResponse =
    queuing === undefined
      ? { type: 'Reject' }
      : { type: 'Queue', queuing: { queues: queuing[0], handSize: queuing[1], queueLengthLimit: 50 } };
  const limited = { nominalConcurrencyShares: shares, limitResponse, lendablePercent: lendable };
  return { kind: 'PriorityLevelConfiguration', apiVersion, metadata: metadata(name), spec: { type: 'Limited', limited }, status: {} };
}

function flowSchema(name: string, { level, precedence, distinguisher, subjects, rules = everything }: Schema, now: Date): KubeObject {
  return {
    kind: 'FlowSchema',
    apiVersion,
    metadata: metadata(name),
    spec: {
      priorityLevelConfiguration: { name: level },
      matchingPrecedence: precedence,
      ...(distinguisher && { distinguisherMethod: { type: distinguisher } }),
      rules: [{ subjects, ...rules }],
    },
    status: {
      conditions: [
        {
          type: 'Dangling',
          status: 'False',
          lastTransitionTime: `${now.toISOString().slice(0, 19)}Z`,
          reason: 'Found',
          message: `This FlowSchema references the PriorityLevelConfiguration object named "${level}" and it exists`,
        },
      ],
    },
  };
}
