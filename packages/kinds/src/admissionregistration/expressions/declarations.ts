import { AUTHORIZER, type Declaration, declare, RESOURCE_CHECK } from '@capstan/cel';

/** The variables available to expressions of webhooks and policies. */

const { string, int, bool, dyn, timestamp, list, map, object } = declare;

const kindName = object('kubernetes.GroupVersionKind', { group: string, version: string, kind: string });
const resourceName = object('kubernetes.GroupVersionResource', { group: string, version: string, resource: string });
const userInfo = object('kubernetes.UserInfo', { username: string, uid: string, groups: list(string), extra: map(list(string)) });

const request = object('kubernetes.AdmissionRequest', {
  kind: kindName,
  resource: resourceName,
  subResource: string,
  requestKind: kindName,
  requestResource: resourceName,
  requestSubResource: string,
  name: string,
  namespace: string,
  operation: string,
  userInfo,
  dryRun: bool,
  options: dyn,
});

const namespaceMetadata = object('kubernetes.NamespaceMetadata', {
  name: string,
  generateName: string,
  namespace: string,
  labels: map(string),
  annotations: map(string),
  UID: string,
  creationTimestamp: timestamp,
  deletionGracePeriodSeconds: int,
  deletionTimestamp: timestamp,
  generation: int,
  resourceVersion: string,
  finalizers: list(string),
});

const namespaceCondition = object('kubernetes.NamespaceCondition', {
  status: string,
  type: string,
  lastTransitionTime: timestamp,
  message: string,
  reason: string,
});

const namespace = object('kubernetes.Namespace', {
  metadata: namespaceMetadata,
  spec: object('kubernetes.NamespaceSpec', { finalizers: list(string) }),
  status: object('kubernetes.NamespaceStatus', { conditions: list(namespaceCondition), phase: string }),
});

/** `namespaceObject` is null for cluster-scoped objects. */
const maybeNamespace: Declaration = { ...namespace, read: (json) => (json === null ? null : namespace.read(json)) };

export interface Known {
  readonly params: boolean;
  readonly authorizer: boolean;
  /** The variables that the policy has defined so far, under `variables`. */
  readonly variables?: Declaration;
  /** Static types for variables that are otherwise typed only at request time. */
  readonly typed?: ReadonlyMap<string, Declaration>;
}

const environments = new Map<string, ReadonlyMap<string, Declaration>>();

export function declarationsFor(known: Known): ReadonlyMap<string, Declaration> {
  const key = `${known.params}/${known.authorizer}`;
  let declarations = environments.get(key);
  if (declarations === undefined) environments.set(key, (declarations = declared(known)));
  const { typed, variables } = known;
  if (typed === undefined && variables === undefined) return declarations;
  return new Map([...declarations, ...(typed ?? []), ...(variables === undefined ? [] : ([['variables', variables]] as const))]);
}

function declared({ params, authorizer }: Known): ReadonlyMap<string, Declaration> {
  return new Map([
    ['object', dyn],
    ['oldObject', dyn],
    ['namespaceObject', maybeNamespace],
    ['request', request],
    ...(params ? ([['params', dyn]] as const) : []),
    ...(authorizer
      ? ([
          ['authorizer', declare.opaque(AUTHORIZER)],
          ['authorizer.requestResource', declare.opaque(RESOURCE_CHECK)],
        ] as const)
      : []),
  ]);
}
