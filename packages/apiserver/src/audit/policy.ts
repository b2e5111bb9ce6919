import { definedKinds, logStorePath, nodeAgentGroup, nodeGroup } from '@capstan/api';
import type { Attributes } from '../authz/attributes.ts';
import { urlMatches } from '../authz/rule.ts';

export type Level = 'None' | 'Metadata' | 'Request' | 'RequestResponse';
export type Stage = 'RequestReceived' | 'ResponseStarted' | 'ResponseComplete' | 'Panic';

export interface GroupResources {
  readonly group?: string;
  readonly resources?: readonly string[];
  readonly resourceNames?: readonly string[];
}

export interface AuditRule {
  readonly level: Level;
  readonly users?: readonly string[];
  readonly userGroups?: readonly string[];
  readonly verbs?: readonly string[];
  readonly resources?: readonly GroupResources[];
  readonly namespaces?: readonly string[];
  readonly nonResourceURLs?: readonly string[];
  readonly omitStages?: readonly Stage[];
  readonly omitManagedFields?: boolean;
}

export interface AuditPolicy {
  readonly rules: readonly AuditRule[];
  readonly omitStages?: readonly Stage[];
  readonly omitManagedFields?: boolean;
  /** Records denied requests (401, 403) at Metadata, even where a rule says None. */
  readonly denials?: boolean;
}

/** Subresources that lead to a node: of Kubernetes' kinds, and of our own. */
const streams: readonly GroupResources[] = [
  { group: '', resources: ['pods/attach', 'pods/exec', 'pods/log', 'pods/portforward', 'pods/proxy', 'services/proxy', 'nodes/proxy'] },
  ...definedKinds
    .filter((kind) => kind.streams.length > 0)
    .map(({ group, resource, streams: names }) => ({ group, resources: names.map((name) => `${resource}/${name}`) })),
];

const updates = ['update', 'patch'];

/** Every component renews its lease, and every node its status, every few seconds: these would be most of the log. */
const heartbeats: readonly AuditRule[] = [
  { level: 'None', verbs: updates, resources: [{ group: 'coordination.k8s.io', resources: ['leases'] }] },
  { level: 'None', verbs: updates, userGroups: [nodeGroup], resources: [{ group: '', resources: ['nodes/status'] }] },
  {
    level: 'None',
    verbs: updates,
    userGroups: [nodeAgentGroup],
    resources: [{ group: 'fleet.capstan.dev', resources: ['gpunodes/status'] }],
  },
  // Agents send the output of units every second.
  { level: 'None', verbs: ['put'], userGroups: [nodeAgentGroup], nonResourceURLs: [`${logStorePath}*`] },
];

/** Questions about the asker's own rights and name. They store nothing, and a page of the console asks several. */
const questions: AuditRule = {
  level: 'None',
  verbs: ['create'],
  resources: [
    { group: 'authorization.k8s.io', resources: ['selfsubjectaccessreviews', 'selfsubjectrulesreviews'] },
    { group: 'authentication.k8s.io', resources: ['selfsubjectreviews'] },
  ],
};

/** Records every write except heartbeats and questions about oneself, every stream to a node and every denial, but no other reads. */
export const defaultPolicy: AuditPolicy = {
  rules: [
    { level: 'Metadata', resources: streams },
    { level: 'None', verbs: ['get', 'list', 'watch'] },
    ...heartbeats,
    questions,
    { level: 'Metadata' },
  ],
  omitStages: ['RequestReceived'],
  omitManagedFields: true,
  denials: true,
};

/** How one request is recorded: its rule and the policy combined. */
export interface Recording {
  readonly level: Exclude<Level, 'None'>;
  readonly omitStages: readonly Stage[];
  readonly omitManagedFields: boolean;
}

/** Compiles a policy. The returned function gives undefined for requests that are not recorded. */
export function compilePolicy(policy: AuditPolicy): (attributes: Attributes<string>) => Recording | undefined {
  const compiled = policy.rules.map((rule) => ({ rule, recording: recordingOf(rule, policy) }));
  return (attributes) => {
    for (const { rule, recording } of compiled) if (matches(rule, attributes)) return recording;
    return undefined;
  };
}

function recordingOf({ level, omitStages = [], omitManagedFields }: AuditRule, policy: AuditPolicy): Recording | undefined {
  if (level === 'None') return undefined;
  return {
    level,
    omitStages: [...new Set([...(policy.omitStages ?? []), ...omitStages])],
    omitManagedFields: omitManagedFields ?? policy.omitManagedFields ?? false,
  };
}

const isListed = (list: readonly string[] | undefined, value: string): boolean =>
  list === undefined || list.length === 0 || list.includes(value);

function matches(rule: AuditRule, attributes: Attributes<string>): boolean {
  if (!isListed(rule.verbs, attributes.verb) || !isListed(rule.users, attributes.user.name)) return false;
  const { userGroups = [], namespaces = [], resources = [], nonResourceURLs = [] } = rule;
  if (userGroups.length > 0 && !attributes.user.groups.some((group) => userGroups.includes(group))) return false;
  if (namespaces.length > 0 || resources.length > 0) {
    if (!attributes.isResource || !isListed(namespaces, attributes.namespace)) return false;
    return resources.length === 0 || resources.some((entry) => matchesResource(entry, attributes));
  }
  if (nonResourceURLs.length > 0) return !attributes.isResource && nonResourceURLs.some((url) => urlMatches(url, attributes.path));
  return true;
}

function matchesResource({ group = '', resources = [], resourceNames }: GroupResources, attributes: Attributes<string>): boolean {
  if (group !== attributes.group) return false;
  if (resources.length === 0) return true;
  if (!isListed(resourceNames, attributes.name)) return false;
  const { resource, subresource } = attributes;
  const combined = subresource === '' ? resource : `${resource}/${subresource}`;
  return resources.some(
    (entry) => entry === '*' || entry === combined || entry === `${resource}/*` || (subresource !== '' && entry === `*/${subresource}`),
  );
}
