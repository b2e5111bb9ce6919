import {
  type AppInstance,
  type AppMember,
  appInstanceKind,
  appMemberKind,
  appsGroup,
  type ClusterId,
  fleetGroup,
  type NodeBooking,
  type NodeTask,
  nodeBookingKind,
  nodeNamespace,
  nodeTaskKind,
} from '@capstan/api';
import { apiExports } from '../bindings/names.ts';
import { endOf, type WatchCache } from '../cache/watch-cache.ts';
import type { Resource } from '../registry/resource.ts';

export interface AppObjectsOptions {
  readonly cache: WatchCache;
  readonly platform: () => ClusterId | undefined;
}

/** Where an instance is. */
export interface InstancePlace {
  readonly cluster: ClusterId;
  readonly namespace: string;
  readonly name: string;
}

/** Healthy members first; those that nobody has been able to look at are better than none. */
const order: readonly (string | undefined)[] = ['healthy', 'degraded', 'progressing', 'unknown', undefined];

/** Instances of apps, their members, and the bookings and tasks of their nodes, from the cache. */
export class AppObjects {
  readonly #options: AppObjectsOptions;

  constructor(options: AppObjectsOptions) {
    this.#options = options;
  }

  /** Whether objects of a resource are those of the platform's own export. Tenants can define kinds with the same names and write anything into them. */
  isOfPlatform({ group, resource, storage }: Pick<Resource, 'group' | 'resource' | 'storage'>): boolean {
    const identity = this.#identity();
    return group === appsGroup && identity !== undefined && storage.resource === `${resource}:${identity}`;
  }

  instance({ cluster, namespace, name }: InstancePlace): AppInstance | undefined {
    const entries = this.#entriesOf(appInstanceKind.resource);
    return entries?.get(`${cluster}/${namespace}/${name}`)?.object as AppInstance | undefined;
  }

  /** A member of an instance by its name. */
  member({ cluster, namespace, name }: InstancePlace, member: string): AppMember | undefined {
    const entry = this.#entriesOf(appMemberKind.resource)?.get(`${cluster}/${namespace}/${member}`);
    const found = entry?.object as AppMember | undefined;
    return found?.spec.instance === name ? found : undefined;
  }

  /** Members of an instance whose nodes it has to itself now, the healthy ones first. */
  members({ cluster, namespace, name }: InstancePlace): AppMember[] {
    const found: AppMember[] = [];
    const prefix = `${cluster}/${namespace}/`;
    this.#entriesOf(appMemberKind.resource)?.walk(prefix, endOf(prefix), (entry) => {
      const member = entry.object as AppMember;
      if (member.spec.instance === name && this.isBooked(member, cluster)) found.push(member);
      return true;
    });
    const rank = ({ status }: AppMember): number => {
      const at = order.indexOf(status?.health);
      return at < 0 ? order.length : at;
    };
    return found.sort((one, other) => rank(one) - rank(other));
  }

  /** Whether the allocation of a member has its node to itself. The scheduler says so, and neither tenants nor agents can. */
  isBooked({ metadata, spec }: AppMember, cluster: ClusterId): boolean {
    const { cache, platform } = this.#options;
    const bookings = cache.resource({ group: fleetGroup, resource: `${nodeBookingKind.resource}*` });
    const booking = bookings.entries.get(`${platform()}//${spec.node}`)?.object as NodeBooking | undefined;
    return (booking?.spec.entries ?? []).some(
      ({ allocation, state, exclusive }) =>
        state === 'Granted' &&
        exclusive === true &&
        allocation.cluster === cluster &&
        allocation.namespace === metadata.namespace &&
        allocation.name === spec.allocation,
    );
  }

  /** The task of a step, as long as the platform keeps it. */
  task({ node, task }: { readonly node: string; readonly task: string }): NodeTask | undefined {
    const { cache, platform } = this.#options;
    const tasks = cache.resource({ group: fleetGroup, resource: `${nodeTaskKind.resource}*` });
    return tasks.entries.get(`${platform()}/${nodeNamespace(node)}/${task}`)?.object as NodeTask | undefined;
  }

  #entriesOf(resource: string) {
    const identity = this.#identity();
    return identity === undefined
      ? undefined
      : this.#options.cache.resource({ group: appsGroup, resource: `${resource}:${identity}` }).entries;
  }

  #identity(): string | undefined {
    const { cache, platform } = this.#options;
    const cluster = platform();
    if (cluster === undefined) return undefined;
    return cache.get({ ...apiExports, cluster, namespace: '', name: appsGroup })?.status?.identityHash;
  }
}
