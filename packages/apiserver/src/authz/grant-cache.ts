import { createHash } from 'node:crypto';
import type { ClusterId, User } from '@capstan/api';

/** A value whose weight counts against the room of the cache. */
interface Weighed {
  readonly weight: number;
}

/** The values of one user in a workspace, by namespace. */
interface Places<Value> {
  /** The state of the roles and bindings that apply there. */
  readonly changed: number;
  readonly values: Map<string, Value>;
}

/** The values of one user, by workspace. */
type Known<Value> = Map<ClusterId, Places<Value>>;

/** The values of one user in the workspaces of one organization. */
interface Part {
  readonly identity: string;
  readonly clusters: readonly ClusterId[];
  readonly share: number;
}

export interface GrantCacheOptions<Value> {
  /** How many values are cached, over all users. */
  readonly capacity: number;
  /** What all of them may weigh. */
  readonly mostWeight: number;
  readonly organizationOf: (cluster: ClusterId) => string;
  /** Changes whenever a role or binding that applies in a workspace changes. */
  readonly changedIn: (cluster: ClusterId) => number;
  readonly make: (user: User, cluster: ClusterId, namespace: string) => Value;
}

/** Longer identities are cached by their hash. */
const longIdentity = 1_024;
/** How much of a full cache stays. Finding out what must go takes a look at everything in it. */
const kept = 0.75;

/**
 * What is known of users in workspaces and namespaces, until a role or binding that applies there changes. When it is full, it forgets what the organizations
 * with the most have, beginning with the users who have the most there, so that a tenant that fills it pays for that itself.
 */
export class GrantCache<Value extends Weighed> {
  readonly #options: GrantCacheOptions<Value>;
  // Authenticators return the same object for the same user; users created per request (impersonation) are found by their identity.
  #byUser = new WeakMap<User, Known<Value>>();
  readonly #byIdentity = new Map<string, Known<Value>>();
  #size = 0;
  #weight = 0;

  constructor(options: GrantCacheOptions<Value>) {
    this.#options = options;
  }

  /** To be called before what is known of a user is used: what is forgotten later would be made again in the same request. */
  makeRoom(): void {
    const { capacity, mostWeight } = this.#options;
    if (this.#size < capacity && this.#weight < mostWeight) return;
    for (const part of this.#heaviestFirst()) {
      if (this.#size <= capacity * kept && this.#weight <= mostWeight * kept) break;
      this.#forget(part);
    }
    // Users are found by their identity once more.
    this.#byUser = new WeakMap();
  }

  get(user: User, cluster: ClusterId, namespace: string): Value {
    const known = this.#knownOf(user);
    const changed = this.#options.changedIn(cluster);
    let places = known.get(cluster);
    if (places?.changed !== changed) {
      if (places !== undefined) this.#release(places);
      known.set(cluster, (places = { changed, values: new Map() }));
    }
    let value = places.values.get(namespace);
    if (value === undefined) {
      value = this.#options.make(user, cluster, namespace);
      places.values.set(namespace, value);
      this.#size++;
      this.#weight += value.weight;
    }
    return value;
  }

  #knownOf(user: User): Known<Value> {
    let known = this.#byUser.get(user);
    if (known !== undefined) return known;
    // The extra is part of the identity: it contains the home workspace, the scopes and the warrants.
    const identity = shortened(JSON.stringify([user.name, user.groups, user.extra]));
    known = this.#byIdentity.get(identity);
    if (known === undefined) {
      known = new Map();
      this.#byIdentity.set(identity, known);
      this.#size++;
    }
    this.#byUser.set(user, known);
    return known;
  }

  #heaviestFirst(): readonly Part[] {
    const { organizationOf } = this.#options;
    const tenants = new Map<string, { parts: Part[]; share: number }>();
    for (const [identity, known] of this.#byIdentity) {
      for (const [organization, own] of Map.groupBy(known, ([cluster]) => organizationOf(cluster))) {
        let tenant = tenants.get(organization);
        if (tenant === undefined) tenants.set(organization, (tenant = { parts: [], share: 0 }));
        const share = own.reduce((sum, [, places]) => sum + this.#shareOf(places), 0);
        tenant.parts.push({ identity, clusters: own.map(([cluster]) => cluster), share });
        tenant.share += share;
      }
    }
    const heaviest = [...tenants.values()].sort((one, other) => other.share - one.share);
    return heaviest.flatMap(({ parts }) => parts.sort((one, other) => other.share - one.share));
  }

  #shareOf({ values }: Places<Value>): number {
    const { capacity, mostWeight } = this.#options;
    let weight = 0;
    for (const value of values.values()) weight += value.weight;
    return values.size / capacity + weight / mostWeight;
  }

  #forget({ identity, clusters }: Part): void {
    const known = this.#byIdentity.get(identity)!;
    for (const cluster of clusters) {
      this.#release(known.get(cluster)!);
      known.delete(cluster);
    }
    if (known.size > 0) return;
    this.#byIdentity.delete(identity);
    this.#size--;
  }

  #release({ values }: Places<Value>): void {
    for (const { weight } of values.values()) {
      this.#size--;
      this.#weight -= weight;
    }
  }
}

function shortened(identity: string): string {
  return identity.length <= longIdentity ? identity : createHash('sha256').update(identity).digest('base64');
}
