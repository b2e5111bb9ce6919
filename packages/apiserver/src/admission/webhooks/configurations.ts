import type { ClusterId } from '@capstan/api';
import type { ObjectReader } from '@capstan/kinds';
import type { GroupResource, KubeObject } from '@capstan/machinery';
import { ByWorkspace } from '../../cache/by-workspace.ts';
import { type Hook, hooksOf } from './hook.ts';

const group = 'admissionregistration.k8s.io';
export const mutatingConfigurations = { group, resource: 'mutatingwebhookconfigurations' };
export const validatingConfigurations = { group, resource: 'validatingwebhookconfigurations' };

const none: readonly Hook[] = [];

/** The webhooks of each workspace, in calling order. Parsed again only when a configuration changes. */
export class Configurations {
  readonly #objects: ObjectReader;
  readonly #resource: GroupResource;
  readonly #byWorkspace = new ByWorkspace<readonly Hook[]>();
  readonly #compiled = new WeakMap<KubeObject, readonly Hook[]>();

  constructor(objects: ObjectReader, resource: GroupResource) {
    this.#objects = objects;
    this.#resource = resource;
  }

  of(cluster: ClusterId): readonly Hook[] {
    return this.#byWorkspace.get(cluster, this.#objects.generation(this.#resource), this.#read);
  }

  readonly #read = (cluster: ClusterId): readonly Hook[] => {
    const configurations = this.#objects.list(this.#resource, cluster);
    return configurations.length === 0 ? none : configurations.flatMap((configuration) => this.#hooksOf(configuration));
  };

  #hooksOf(configuration: KubeObject): readonly Hook[] {
    let hooks = this.#compiled.get(configuration);
    if (hooks === undefined) this.#compiled.set(configuration, (hooks = hooksOf(configuration)));
    return hooks;
  }
}
