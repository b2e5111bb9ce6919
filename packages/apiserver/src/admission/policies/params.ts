import {
  type Fields,
  type KubeObject,
  type LabelSelectorObject,
  maybeFields,
  parseApiVersion,
  selectorOfObject,
  textOf,
} from '@capstan/machinery';
import type { AdmissionRequest } from '../../registry/admission.ts';
import type { Catalog } from '../../registry/catalog.ts';
import { printHeld, type Quarantine } from '../../registry/quarantine.ts';
import type { Resource } from '../../registry/resource.ts';
import { namespaceOf } from '../matching/match.ts';
import { served } from '../matching/versions.ts';
import { ruleCluster } from '../source.ts';
import type { AnyPolicy, PolicyBinding } from './policy.ts';

/** Throws if the policy must not be evaluated; its failure policy decides what happens then. */
export function refuseHeld({ evaluated }: AnyPolicy, quarantine: Quarantine): void {
  const held = quarantine.held(evaluated.identity);
  if (held !== undefined) throw new Misconfigured(printHeld(held));
}

/** Thrown for a policy or binding that cannot be used. The failure policy decides what happens then. */
export class Misconfigured extends Error {
  override readonly name = 'Misconfigured';
}

const noParams: readonly (KubeObject | null)[] = [null];

/** The parameter objects to evaluate a policy with, once for each. If empty, the policy is not evaluated. */
export async function paramsOf(
  { paramKind }: AnyPolicy,
  { paramRef }: PolicyBinding,
  { request, resource }: { request: AdmissionRequest; resource: Resource | undefined },
): Promise<readonly (KubeObject | null)[]> {
  if (paramKind === undefined || paramRef === undefined || resource === undefined) return noParams;
  const found = await Promise.all(stored(request, resource, paramRef).map((object) => served(object, resource)));
  if (found.length === 0 && paramRef['parameterNotFoundAction'] === 'Deny') {
    throw new Misconfigured('no params found for policy binding with `Deny` parameterNotFoundAction');
  }
  return found;
}

function stored(request: AdmissionRequest, resource: Resource, paramRef: Readonly<Fields>): readonly KubeObject[] {
  const { objects } = request.context;
  const cluster = ruleCluster(request);
  const namespace = paramNamespace(request, resource, textOf(paramRef['namespace']));
  const name = textOf(paramRef['name']);
  const { storage } = resource;
  if (name !== '') {
    const found = objects.get({ group: storage.group, resource: storage.resource, cluster, namespace, name });
    return found === undefined ? [] : [found];
  }
  const selector = selectorOfObject((maybeFields(paramRef['selector']) ?? {}) as LabelSelectorObject);
  return objects.list(storage, cluster, namespace).filter(({ metadata }) => selector.matches(metadata.labels));
}

function paramNamespace(request: AdmissionRequest, { namespaced }: Resource, given: string): string {
  if (!namespaced) {
    if (given !== '') throw new Misconfigured('paramRef.namespace must not be provided for a cluster-scoped `paramKind`');
    return '';
  }
  const namespace = given || namespaceOf(request);
  if (namespace === '') {
    throw new Misconfigured('cannot use namespaced paramRef in policy binding that matches cluster-scoped resources');
  }
  return namespace;
}

/** The resource of a policy's parameters. */
export function paramResource({ paramKind }: Pick<AnyPolicy, 'paramKind'>, catalog: Catalog): Resource | undefined {
  if (paramKind === undefined) return undefined;
  const { apiVersion, kind } = paramKind;
  const found = catalog.findKind(apiVersion, kind);
  if (found !== undefined) return found;
  const { group, version } = parseApiVersion(apiVersion);
  throw new Misconfigured(`failed to find resource referenced by paramKind: '${group}/${version}, Kind=${kind}'`);
}
