import { controllerManagerUser, kubeletBootstrappersGroup, kubeletClientUser, nodeGroup } from '@capstan/api';
import { type KubeObject, staleAggregations } from '@capstan/machinery';
import { rbacGroup, type Subject } from '../authz/resolver.ts';
import { componentRoles, userRoles } from './cluster-roles.ts';
import { controllerRoles } from './controller-roles.ts';
import { namespaceRoles } from './namespace-roles.ts';
import { ownControllerRoles } from './own-roles.ts';
import { parseRule } from './rule-text.ts';

const apiVersion = `${rbacGroup}/v1`;
export const autoupdateAnnotation = 'rbac.authorization.kubernetes.io/autoupdate';
const aggregateTo = (name: string): string => `${rbacGroup}/aggregate-to-${name}`;

/** ClusterRoles that aggregate the rules of others, by label. */
const aggregated = ['admin', 'edit', 'view'];
/** ClusterRole → the aggregated role that includes it. */
const partOf = new Map([['edit', 'admin'], ['view', 'edit'], ...aggregated.map((name) => [`system:aggregate-to-${name}`, name] as const)]);

const user = (name: string): Subject => ({ apiGroup: rbacGroup, kind: 'User', name });
const group = (name: string): Subject => ({ apiGroup: rbacGroup, kind: 'Group', name });
const serviceAccount = (name: string): Subject => ({ kind: 'ServiceAccount', name, namespace: 'kube-system' });

/** ClusterRoleBindings, each named like its ClusterRole. */
const clusterBindings: Readonly<Record<string, readonly Subject[]>> = {
  'cluster-admin': [group('system:masters')],
  'system:basic-user': [group('system:authenticated')],
  'system:discovery': [group('system:authenticated')],
  'system:kube-controller-manager': [user('system:kube-controller-manager')],
  'system:kube-dns': [serviceAccount('kube-dns')],
  'system:kube-scheduler': [user('system:kube-scheduler')],
  // Kubernetes leaves this to installers. Kubelets ask the API server whether its own user may call them.
  'system:kubelet-api-admin': [user(kubeletClientUser)],
  'system:monitoring': [group('system:monitoring')],
  'system:node': [],
  'system:node-proxier': [user('system:kube-proxy')],
  'system:public-info-viewer': [group('system:authenticated'), group('system:unauthenticated')],
  'system:service-account-issuer-discovery': [group('system:serviceaccounts')],
  'system:volume-scheduler': [user('system:kube-scheduler')],
};

/** The bindings of kubeadm, so that kubelets can join with a bootstrap token: further names → ClusterRole and subject. */
const kubeletBindings: Readonly<Record<string, readonly [string, Subject]>> = {
  'capstan:kubelet-bootstrap': ['system:node-bootstrapper', group(kubeletBootstrappersGroup)],
  'capstan:kubelet-approval': ['system:certificates.k8s.io:certificatesigningrequests:nodeclient', group(kubeletBootstrappersGroup)],
  'capstan:kubelet-renewal': ['system:certificates.k8s.io:certificatesigningrequests:selfnodeclient', group(nodeGroup)],
};

interface NamespaceBinding {
  readonly namespace: string;
  readonly name: string;
  /** The name of the role; defaults to the name of the binding. */
  readonly role?: string;
  readonly subjects: readonly Subject[];
}

const namespaceBindings: readonly NamespaceBinding[] = [
  { namespace: 'kube-public', name: 'system:controller:bootstrap-signer', subjects: [serviceAccount('bootstrap-signer')] },
  {
    namespace: 'kube-system',
    name: 'system::extension-apiserver-authentication-reader',
    role: 'extension-apiserver-authentication-reader',
    subjects: [user('system:kube-controller-manager'), user('system:kube-scheduler')],
  },
  {
    namespace: 'kube-system',
    name: 'system::leader-locking-kube-controller-manager',
    subjects: [
      user('system:kube-controller-manager'),
      serviceAccount('kube-controller-manager'),
      serviceAccount('leader-election-controller'),
    ],
  },
  {
    namespace: 'kube-system',
    name: 'system::leader-locking-kube-scheduler',
    subjects: [user('system:kube-scheduler'), serviceAccount('kube-scheduler')],
  },
  { namespace: 'kube-system', name: controllerManagerUser, subjects: [user(controllerManagerUser)] },
  ...['bootstrap-signer', 'cloud-provider', 'token-cleaner'].map((name) => ({
    namespace: 'kube-system',
    name: `system:controller:${name}`,
    subjects: [serviceAccount(name)],
  })),
];

const everyControllersRoles = { ...controllerRoles, ...ownControllerRoles };

/** Every default role and binding. admin, edit and view already contain the rules that they aggregate. */
export function rbacObjects(): KubeObject[] {
  const clusterRoles = [
    ...aggregated.map(aggregatedRole),
    ...[...Object.entries(userRoles), ...Object.entries(componentRoles)].map(([name, rules]) => clusterRole(name, rules)),
    ...Object.entries(everyControllersRoles).map(([name, rules]) => clusterRole(`system:controller:${name}`, rules)),
  ];
  // view is aggregated into edit and edit into admin, one step per round.
  for (let stale = staleAggregations(clusterRoles); stale.length > 0; stale = staleAggregations(clusterRoles)) {
    for (const { role, rules } of stale) role['rules'] = rules;
  }
  return [...clusterRoles, ...clusterRoleBindings(), ...roles(), ...roleBindings()];
}

function metadata(name: string, more: { namespace?: string; labels?: Record<string, string> } = {}): KubeObject['metadata'] {
  return {
    name,
    ...(more.namespace && { namespace: more.namespace }),
    labels: { 'kubernetes.io/bootstrapping': 'rbac-defaults', ...more.labels },
    annotations: { [autoupdateAnnotation]: 'true' },
  };
}

function labelsOf(name: string): Record<string, string> {
  const part = partOf.get(name);
  return part === undefined ? {} : { [aggregateTo(part)]: 'true' };
}

function clusterRole(name: string, rules: readonly string[]): KubeObject {
  return { kind: 'ClusterRole', apiVersion, metadata: metadata(name, { labels: labelsOf(name) }), rules: rules.map(parseRule) };
}

function aggregatedRole(name: string): KubeObject {
  return {
    kind: 'ClusterRole',
    apiVersion,
    metadata: metadata(name, { labels: labelsOf(name) }),
    aggregationRule: { clusterRoleSelectors: [{ matchLabels: { [aggregateTo(name)]: 'true' } }] },
    rules: [],
  };
}

const withSubjects = (subjects: readonly Subject[]): { subjects?: readonly Subject[] } => (subjects.length === 0 ? {} : { subjects });

function clusterRoleBindings(): KubeObject[] {
  const binding = (name: string, subjects: readonly Subject[], role = name): KubeObject => ({
    kind: 'ClusterRoleBinding',
    apiVersion,
    metadata: metadata(name),
    ...withSubjects(subjects),
    roleRef: { apiGroup: rbacGroup, kind: 'ClusterRole', name: role },
  });
  return [
    ...Object.entries(kubeletBindings).map(([name, [role, subject]]) => binding(name, [subject], role)),
    ...Object.entries(clusterBindings).map(([name, subjects]) => binding(name, subjects)),
    ...Object.keys(everyControllersRoles).map((name) => binding(`system:controller:${name}`, [serviceAccount(name)])),
  ];
}

function roles(): KubeObject[] {
  return Object.entries(namespaceRoles).flatMap(([namespace, table]) =>
    Object.entries(table).map(([name, rules]) => ({
      kind: 'Role',
      apiVersion,
      metadata: metadata(name, { namespace }),
      rules: rules.map(parseRule),
    })),
  );
}

function roleBindings(): KubeObject[] {
  return namespaceBindings.map(({ namespace, name, role = name, subjects }) => ({
    kind: 'RoleBinding',
    apiVersion,
    metadata: metadata(name, { namespace }),
    ...withSubjects(subjects),
    roleRef: { apiGroup: rbacGroup, kind: 'Role', name: role },
  }));
}
