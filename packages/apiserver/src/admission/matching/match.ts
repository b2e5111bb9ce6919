import {
  everything,
  type Fields,
  type KubeObject,
  type LabelSelector,
  type LabelSelectorObject,
  maybeFields,
  selectorOfObject,
  status,
} from '@capstan/machinery';
import type { AdmissionRequest } from '../../registry/admission.ts';
import type { Catalogs } from '../../registry/catalogs.ts';
import type { Resource } from '../../registry/resource.ts';
import { serverUser } from '../../upkeep/context.ts';
import { type Asked, type Rule, ruleMatches, rulesOf } from './rules.ts';
import { equivalentsOf } from './versions.ts';

/** The requests that a webhook, policy or binding applies to. */
export interface Criteria {
  /** `all` if there are no rules, as in a binding that applies wherever its policy does. */
  readonly rules: readonly Rule[] | 'all';
  /** Requests that match these are excluded. */
  readonly excluded: readonly Rule[];
  /** Whether a rule for one version of a resource applies to all versions. */
  readonly matchPolicy: 'Exact' | 'Equivalent';
  readonly namespaceSelector: LabelSelector;
  readonly objectSelector: LabelSelector;
}

/** Parses the `matchConstraints` of a policy or the `matchResources` of a binding. */
export function criteriaOf(match: Readonly<Fields>): Criteria {
  const rules = rulesOf(match['resourceRules']);
  return {
    rules: rules.length === 0 ? 'all' : rules,
    excluded: rulesOf(match['excludeResourceRules']),
    ...choicesOf(match),
  };
}

/** Parses the criteria that webhooks and policies share. */
export function choicesOf(match: Readonly<Fields>): Pick<Criteria, 'matchPolicy' | 'namespaceSelector' | 'objectSelector'> {
  return {
    matchPolicy: match['matchPolicy'] === 'Exact' ? 'Exact' : 'Equivalent',
    namespaceSelector: selectorOfObject((maybeFields(match['namespaceSelector']) ?? {}) as LabelSelectorObject),
    objectSelector: selectorOfObject((maybeFields(match['objectSelector']) ?? {}) as LabelSelectorObject),
  };
}

const namespaces = { group: '', resource: 'namespaces' };
const configurationKinds = new Set([
  'ValidatingWebhookConfiguration',
  'MutatingWebhookConfiguration',
  'ValidatingAdmissionPolicy',
  'ValidatingAdmissionPolicyBinding',
  'MutatingAdmissionPolicy',
  'MutatingAdmissionPolicyBinding',
]);

/**
 * Webhooks and policies do not apply to their own configuration, so that mistakes in it can be corrected; nor to what the server writes on its own
 * behalf, which they could keep from starting.
 */
export function isExempt({ resource: { group, kind }, context }: AdmissionRequest): boolean {
  return (group === 'admissionregistration.k8s.io' && configurationKinds.has(kind)) || context.user === serverUser;
}

export function isNamespace({ group, resource }: Resource): boolean {
  return group === '' && resource === 'namespaces';
}

/** The namespace of a request; for a namespace, its own name. */
export function namespaceOf({ resource, namespace, name, object }: AdmissionRequest): string {
  return isNamespace(resource) ? name || (object?.metadata.name ?? '') : namespace;
}

/** The resource in the version that matches the rules; undefined if they do not apply to this request. */
export function matchingResource(criteria: Criteria, request: AdmissionRequest, catalogs: Catalogs): Resource | undefined {
  const { rules, excluded, matchPolicy } = criteria;
  const found = rules === 'all' ? request.resource : matchedByRules(rules, matchPolicy, { request, catalogs });
  if (found === undefined || !objectMatches(criteria.objectSelector, request)) return undefined;
  const inNamespace = namespaceMatches(criteria.namespaceSelector, request);
  if (inNamespace === false) return undefined;
  if (excluded.length > 0 && matchedByRules(excluded, matchPolicy, { request, catalogs }) !== undefined) return undefined;
  if (inNamespace === 'unknown') throw status.notFound(namespaces, namespaceOf(request));
  return found;
}

function matchedByRules(
  rules: readonly Rule[],
  matchPolicy: Criteria['matchPolicy'],
  { request, catalogs }: { request: AdmissionRequest; catalogs: Catalogs },
): Resource | undefined {
  const { resource } = request;
  const exact = asked(request, resource);
  for (const rule of rules) if (ruleMatches(rule, exact)) return resource;
  if (matchPolicy === 'Exact') return undefined;
  const others = equivalentsOf(catalogs.of(request.context.cluster), resource);
  if (others.length < 2) return undefined;
  for (const rule of rules) {
    for (const other of others) if (other !== resource && ruleMatches(rule, asked(request, other))) return other;
  }
  return undefined;
}

function asked(request: AdmissionRequest, { group, version, resource }: Resource): Asked {
  const { operation, subresource, name } = request;
  const inNamespace = request.namespace !== '' && !isNamespace(request.resource);
  return { operation, group, version, resource, subresource, inNamespace, name };
}

/** A namespace selector never excludes cluster-scoped objects other than namespaces. */
function namespaceMatches(selector: LabelSelector, request: AdmissionRequest): boolean | 'unknown' {
  if (selector === everything) return true;
  const namespace = namespaceOf(request);
  if (namespace === '' && !isNamespace(request.resource)) return true;
  if (isNamespace(request.resource) && request.subresource === '' && request.object !== undefined) {
    return selector.matches(request.object.metadata.labels);
  }
  const found = namespaceObject(request);
  return found === undefined ? 'unknown' : selector.matches(found.metadata.labels);
}

/** The stored namespace of the request. */
export function namespaceObject(request: AdmissionRequest): KubeObject | undefined {
  const { cluster, objects } = request.context;
  return objects.get({ ...namespaces, cluster, namespace: '', name: namespaceOf(request) });
}

function objectMatches(selector: LabelSelector, { object, old }: AdmissionRequest): boolean {
  if (selector === everything) return true;
  if (object !== undefined && selector.matches(object.metadata.labels)) return true;
  return old !== undefined && selector.matches(old.metadata.labels);
}
