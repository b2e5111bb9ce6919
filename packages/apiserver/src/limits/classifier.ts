import type { User } from '@capstan/api';
import { rootCluster } from '@capstan/api';
import type { ObjectReader } from '@capstan/kinds';
import type { GroupResource, KubeObject } from '@capstan/machinery';
import { parseServiceAccountName } from '../authn/service-account.ts';
import type { Attributes } from '../authz/attributes.ts';

/** The values of the headers X-Kubernetes-PF-FlowSchema-UID and X-Kubernetes-PF-PriorityLevel-UID. */
export interface Flow {
  readonly flowSchemaUid: string;
  readonly priorityLevelUid: string;
}

const group = 'flowcontrol.apiserver.k8s.io';
const flowSchemas: GroupResource = { group, resource: 'flowschemas' };
const priorityLevels: GroupResource = { group, resource: 'prioritylevelconfigurations' };

interface Subject {
  readonly kind: string;
  readonly user?: { readonly name: string };
  readonly group?: { readonly name: string };
  readonly serviceAccount?: { readonly namespace: string; readonly name: string };
}

interface ResourceRule {
  readonly verbs: readonly string[];
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly clusterScope?: boolean;
  readonly namespaces?: readonly string[];
}

interface NonResourceRule {
  readonly verbs: readonly string[];
  readonly nonResourceURLs: readonly string[];
}

interface Rule {
  readonly subjects: readonly Subject[];
  readonly resourceRules?: readonly ResourceRule[];
  readonly nonResourceRules?: readonly NonResourceRule[];
}

interface Schema {
  readonly flow: Flow;
  readonly rules: readonly Rule[];
}

/** A schema reduced to the rules that name the user. */
type Candidate = Schema;

/**
 * Finds the flow schema that a request belongs to. The rules that apply to a user are computed once; most requests then match the first
 * candidate.
 */
export function flowClassifier(objects: ObjectReader): (attributes: Attributes<string>) => Flow | undefined {
  let schemas: readonly Schema[] = [];
  let candidates = new WeakMap<User, readonly Candidate[]>();
  let schemaGeneration = -1;
  let levelGeneration = -1;

  function refresh(): void {
    const schemasNow = objects.generation(flowSchemas);
    const levelsNow = objects.generation(priorityLevels);
    if (schemasNow === schemaGeneration && levelsNow === levelGeneration) return;
    schemaGeneration = schemasNow;
    levelGeneration = levelsNow;
    candidates = new WeakMap();
    schemas = compile(objects);
  }

  return (attributes) => {
    refresh();
    const { user } = attributes;
    let own = candidates.get(user);
    if (own === undefined) {
      own = schemas
        .map(({ flow, rules }) => ({ flow, rules: rules.filter(({ subjects }) => subjects.some((subject) => isMeant(subject, user))) }))
        .filter(({ rules }) => rules.length > 0);
      candidates.set(user, own);
    }
    for (const { flow, rules } of own) for (const rule of rules) if (matches(rule, attributes)) return flow;
    return undefined;
  };
}

function compile(objects: ObjectReader): Schema[] {
  const uids = new Map(objects.list(priorityLevels, rootCluster).map(({ metadata }) => [metadata.name, metadata.uid ?? '']));
  const specOf = (schema: KubeObject): { matchingPrecedence?: number; priorityLevelConfiguration: { name: string }; rules?: Rule[] } =>
    schema['spec'] as never;
  const precedence = (schema: KubeObject): number => specOf(schema).matchingPrecedence ?? 1000;
  return objects
    .list(flowSchemas, rootCluster)
    .sort((left, right) => precedence(left) - precedence(right) || ((left.metadata.name ?? '') < (right.metadata.name ?? '') ? -1 : 1))
    .map((schema) => {
      const { priorityLevelConfiguration, rules = [] } = specOf(schema);
      return {
        flow: { flowSchemaUid: schema.metadata.uid ?? '', priorityLevelUid: uids.get(priorityLevelConfiguration.name) ?? '' },
        rules,
      };
    });
}

function isMeant(subject: Subject, user: User): boolean {
  switch (subject.kind) {
    case 'User':
      return subject.user?.name === '*' || subject.user?.name === user.name;
    case 'Group':
      return subject.group?.name === '*' || user.groups.includes(subject.group?.name ?? '');
    case 'ServiceAccount': {
      const account = parseServiceAccountName(user.name);
      const wanted = subject.serviceAccount;
      return account !== undefined && wanted?.namespace === account.namespace && (wanted.name === '*' || wanted.name === account.name);
    }
    default:
      return false;
  }
}

function matches({ resourceRules = [], nonResourceRules = [] }: Rule, attributes: Attributes<string>): boolean {
  return attributes.isResource
    ? resourceRules.some((rule) => matchesResource(rule, attributes))
    : nonResourceRules.some(
        ({ verbs, nonResourceURLs }) => has(verbs, attributes.verb) && nonResourceURLs.some((url) => covers(url, attributes.path)),
      );
}

function matchesResource(rule: ResourceRule, { verb, group: apiGroup, resource, subresource, namespace }: Attributes<string>): boolean {
  return (
    has(rule.verbs, verb) &&
    has(rule.apiGroups, apiGroup) &&
    has(rule.resources, subresource === '' ? resource : `${resource}/${subresource}`) &&
    (namespace === '' ? rule.clusterScope === true : has(rule.namespaces ?? [], namespace))
  );
}

const has = (list: readonly string[], value: string): boolean => list[0] === '*' || list.includes(value) || list.includes('*');

const covers = (url: string, path: string): boolean =>
  url === '*' || url === path || (url.endsWith('/*') && path.startsWith(url.slice(0, -1)));
