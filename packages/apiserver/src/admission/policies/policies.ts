import type { KubeObject } from '@capstan/machinery';
import type { ObjectReader } from '../../cache/reader.ts';
import { bindingOf, type Policy, type PolicyBinding, policyOf } from './policy.ts';

const group = 'admissionregistration.k8s.io';
const policyResource = { group, resource: 'validatingadmissionpolicies' };
const bindingResource = { group, resource: 'validatingadmissionpolicybindings' };

/** A policy and where it holds. */
export interface BoundPolicy {
  readonly policy: Policy;
  readonly bindings: readonly PolicyBinding[];
}

/** The policies of each workspace that are bound. Compiled again only when they changed. */
export class Policies {
  readonly #objects: ObjectReader;
  readonly #byCluster = new Map<string, readonly BoundPolicy[]>();
  readonly #compiled = new WeakMap<KubeObject, Policy>();
  #policies = -1;
  #bindings = -1;

  constructor(objects: ObjectReader) {
    this.#objects = objects;
  }

  of(cluster: string): readonly BoundPolicy[] {
    const policies = this.#objects.generation(policyResource);
    const bindings = this.#objects.generation(bindingResource);
    if (policies !== this.#policies || bindings !== this.#bindings) {
      this.#byCluster.clear();
      this.#policies = policies;
      this.#bindings = bindings;
    }
    let found = this.#byCluster.get(cluster);
    if (found === undefined) this.#byCluster.set(cluster, (found = this.#read(cluster)));
    return found;
  }

  #read(cluster: string): readonly BoundPolicy[] {
    const bindings = this.#objects.list(bindingResource, cluster).map(bindingOf);
    if (bindings.length === 0) return [];
    return this.#objects.list(policyResource, cluster).flatMap((object) => {
      const own = bindings.filter(({ policyName }) => policyName === object.metadata.name);
      return own.length === 0 ? [] : [{ policy: this.#compile(object), bindings: own }];
    });
  }

  #compile(object: KubeObject): Policy {
    let policy = this.#compiled.get(object);
    if (policy === undefined) this.#compiled.set(object, (policy = policyOf(object)));
    return policy;
  }
}
