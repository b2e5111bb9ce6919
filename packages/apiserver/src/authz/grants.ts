import type { ClusterId, StoredKind, User } from '@capstan/api';
import type { ObjectKey, ObjectReader } from '@capstan/kinds';
import { type KubeObject, type PolicyRule, rulesOf } from '@capstan/machinery';
import type { Unparsed } from '../cache/reader.ts';
import {
  candidateOf,
  type Grant,
  grantOf,
  isRoleKind,
  keyOfRole,
  type MissingRole,
  type RolePlace,
  type RoleRef,
  rbacResources,
} from './resolver.ts';

/** Reads roles and bindings. Their sizes are known before they are parsed. */
export interface RoleReader extends ObjectReader {
  unparsed(at: ObjectKey): Unparsed | undefined;
  /** Visits the objects of a workspace's namespace in the order of their names, until `visit` returns false. Objects without a namespace have an empty one. */
  eachUnparsed(
    resource: StoredKind<KubeObject>,
    place: { readonly cluster: ClusterId; readonly namespace: string },
    visit: (object: Unparsed) => boolean,
  ): void;
}

/** The grants of a user in a workspace or namespace. */
export interface Grants {
  readonly grants: readonly Grant[];
  /** The first roles that bindings refer to and that do not exist. */
  readonly missing: readonly MissingRole[];
  /** What the rules weigh: one for each rule and each of its entries, more for long ones. */
  readonly weight: number;
  /** Why later bindings do not count; undefined if all do. */
  readonly cut: string | undefined;
}

/**
 * What the grants of one user in one place may weigh. Every request may have to compare itself with all of them: some milliseconds.
 * An administrator has about a thousand.
 */
const mostWeight = 200_000;

/** The characters of bindings and roles that are read to find them. Ten thousand usual bindings are below it. */
const mostCharacters = 8 << 20;

/** Enough to say why somebody has no access. */
const mostMissing = 100;

/** An entry of a rule weighs one more for each of these. */
const charactersPerWeight = 64;

/**
 * The grants of a user, who may have several identities, from the bindings of a workspace: from its cluster role bindings if the namespace
 * is empty, from the role bindings of the namespace otherwise. A role that several bindings grant counts once. Bindings are read in the
 * order of their names until a limit is reached, so that the result depends on nothing else.
 */
export function grantsIn(objects: RoleReader, place: RolePlace, users: readonly User[]): Grants {
  const search = new Search(objects, place, users);
  const bindings = place.namespace === '' ? rbacResources.clusterRoleBindings : rbacResources.roleBindings;
  objects.eachUnparsed(bindings, place, (binding) => search.visit(binding));
  return search;
}

class Search implements Grants {
  readonly grants: Grant[] = [];
  readonly missing: MissingRole[] = [];
  weight = 0;
  cut: string | undefined;
  readonly #objects: RoleReader;
  readonly #place: RolePlace;
  readonly #users: readonly ReturnType<typeof candidateOf>[];
  readonly #seen = new Set<string>();
  #characters = 0;

  constructor(objects: RoleReader, place: RolePlace, users: readonly User[]) {
    this.#objects = objects;
    this.#place = place;
    this.#users = users.map(candidateOf);
  }

  /** Returns false when a limit is reached. */
  visit(unparsed: Unparsed): boolean {
    // Each identity is compared with all subjects.
    if (!this.#reads(unparsed.length * this.#users.length)) return false;
    const binding = unparsed.read();
    const { kind, name } = binding['roleRef'] as RoleRef;
    const key = `${kind}/${name}`;
    if (this.#seen.has(key)) return true;
    let role: KubeObject | undefined;
    for (const user of this.#users) {
      const found = grantOf(binding, user, (ref) => {
        role = this.#role(ref);
        return role === undefined ? this.#fallback(ref) : rulesOf(role);
      });
      if (this.cut !== undefined) return false;
      if (found === undefined) continue;
      this.#seen.add(key);
      if (!('rules' in found)) {
        if (this.missing.length < mostMissing) this.missing.push(found);
        return true;
      }
      return this.#keep({ ...found, role });
    }
    return true;
  }

  #role({ kind, name }: RoleRef): KubeObject | undefined {
    const stored = isRoleKind(kind) ? this.#objects.unparsed(keyOfRole(kind, name, this.#place)) : undefined;
    return stored !== undefined && this.#reads(stored.length) ? stored.read() : undefined;
  }

  #fallback({ kind, name }: RoleRef): readonly PolicyRule[] | undefined {
    return kind === 'ClusterRole' ? this.#place.fallback?.(name) : undefined;
  }

  #reads(characters: number): boolean {
    this.#characters += characters;
    if (this.#characters <= mostCharacters) return true;
    this.cut = `the bindings and their roles have more than ${mostCharacters} characters, and only the first of them count; delete some, or name fewer subjects`;
    return false;
  }

  #keep(grant: Grant): boolean {
    const weight = weightOf(grant.rules);
    if (this.weight + weight > mostWeight) {
      this.cut = `the roles that are bound to the user have more than ${mostWeight} rules and entries, and only the first of them count; bind fewer or smaller roles`;
      return false;
    }
    this.weight += weight;
    this.grants.push(grant);
    return true;
  }
}

function weightOf(rules: readonly PolicyRule[]): number {
  let weight = rules.length;
  for (const { verbs, apiGroups, resources, resourceNames, nonResourceURLs } of rules) {
    for (const list of [verbs, apiGroups, resources, resourceNames, nonResourceURLs]) {
      if (list === undefined || list === null) continue;
      for (const entry of list) weight += 1 + Math.floor(entry.length / charactersPerWeight);
    }
  }
  return weight;
}
