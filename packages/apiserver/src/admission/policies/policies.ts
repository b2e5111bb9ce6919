import type { ClusterId } from '@capstan/api';
import type { ObjectReader } from '@capstan/kinds';
import type { KubeObject } from '@capstan/machinery';
import type { Gate } from '../../authz/attributes.ts';
import { ByWorkspace } from '../../cache/by-workspace.ts';
import type { AdmissionRequest } from '../../registry/admission.ts';
import type { Catalogs } from '../../registry/catalogs.ts';
import type { Quarantine } from '../../registry/quarantine.ts';
import type { Resource } from '../../registry/resource.ts';
import { isExempt, matchingResource } from '../matching/match.ts';
import { ruleCluster } from '../source.ts';
import { type AnyPolicy, bindingOf, type PolicyBinding } from './policy.ts';

export interface PolicyOptions {
  readonly objects: ObjectReader;
  readonly catalogs: Catalogs;
  readonly authorizer: Gate;
  readonly quarantine: Quarantine;
}

const group = 'admissionregistration.k8s.io';

/** A policy and its bindings. */
export interface BoundPolicy<Policy extends AnyPolicy> {
  readonly policy: Policy;
  readonly bindings: readonly PolicyBinding[];
}

/** The resources of one kind of policy. */
export interface PolicySource<Policy extends AnyPolicy> {
  readonly policies: string;
  readonly bindings: string;
  readonly compile: (object: KubeObject) => Policy;
}

/** The bound policies of each workspace. Recompiled only when they change. */
export class Policies<Policy extends AnyPolicy> {
  readonly #objects: ObjectReader;
  readonly #policyResource: { readonly group: string; readonly resource: string };
  readonly #bindingResource: { readonly group: string; readonly resource: string };
  readonly #compileNew: (object: KubeObject) => Policy;
  readonly #byWorkspace = new ByWorkspace<readonly BoundPolicy<Policy>[]>();
  readonly #compiled = new WeakMap<KubeObject, Policy>();

  constructor(objects: ObjectReader, { policies, bindings, compile }: PolicySource<Policy>) {
    this.#objects = objects;
    this.#policyResource = { group, resource: policies };
    this.#bindingResource = { group, resource: bindings };
    this.#compileNew = compile;
  }

  of(cluster: ClusterId): readonly BoundPolicy<Policy>[] {
    // Both only increase.
    const state = this.#objects.generation(this.#policyResource) + this.#objects.generation(this.#bindingResource);
    return this.#byWorkspace.get(cluster, state, this.#read);
  }

  readonly #read = (cluster: ClusterId): readonly BoundPolicy<Policy>[] => {
    const bindings = this.#objects.list(this.#bindingResource, cluster).map(bindingOf);
    if (bindings.length === 0) return nobody;
    return this.#objects.list(this.#policyResource, cluster).flatMap((object) => {
      const own = bindings.filter(({ policyName }) => policyName === object.metadata.name);
      return own.length === 0 ? [] : [{ policy: this.#compile(object), bindings: own }];
    });
  };

  #compile(object: KubeObject): Policy {
    let policy = this.#compiled.get(object);
    if (policy === undefined) this.#compiled.set(object, (policy = this.#compileNew(object)));
    return policy;
  }
}

export interface Concerned<Policy extends AnyPolicy> extends BoundPolicy<Policy> {
  /** In the version that matches the rules of the policy. */
  readonly resource: Resource;
}

const nobody: readonly never[] = [];
/** Rejecting these could lock everybody out. */
const reviews = new Set(['authentication.k8s.io', 'authorization.k8s.io']);

/** The policies that apply to a request. */
export function concernedBy<Policy extends AnyPolicy>(
  policies: Policies<Policy>,
  request: AdmissionRequest,
  catalogs: Catalogs,
): readonly Concerned<Policy>[] {
  const bound = policies.of(ruleCluster(request));
  if (bound.length === 0 || isExempt(request)) return nobody;
  if (request.resource.virtual && reviews.has(request.resource.group)) return nobody;
  const concerned: Concerned<Policy>[] = [];
  for (const { policy, bindings } of bound) {
    const resource = matchingResource(policy.criteria, request, catalogs);
    if (resource !== undefined) concerned.push({ policy, bindings, resource });
  }
  return concerned;
}
