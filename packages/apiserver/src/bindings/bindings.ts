import { type ApiBinding, asClusterId, type ClusterId, exportLabel, type ScopedClaim } from '@capstan/api';
import { BoundedMap, everything, type GroupResource, type LabelSelector, selectorOfObject } from '@capstan/machinery';
import type { CacheEntry } from '../cache/entry.ts';
import type { EntryReader } from '../cache/reader.ts';
import { apiBindings, type BoundResource, boundResources } from './bound-resources.ts';
import { exportLabelValue } from './names.ts';
import { referenceOf } from './reference.ts';

/** A permission claim that a workspace accepted: the provider of an API may use these other objects of the workspace. */
export interface AcceptedClaim {
  readonly group: string;
  readonly resource: string;
  readonly identity: string;
  readonly verbs: readonly string[];
  /** The objects that the claim covers. */
  readonly selector: LabelSelector;
  /** Added to objects that the provider creates, so that the claim covers them. */
  readonly labels: Readonly<Record<string, string>>;
}

/** The facts about an APIBinding that serving needs. Equal bindings share one object. */
export interface BindingFacts {
  /** The id of the workspace of the export; empty until bound. */
  readonly provider: ClusterId;
  readonly exportName: string;
  /** Identifies the export, from the creation of the binding. */
  readonly label: string;
  readonly bound: readonly BoundResource[];
  readonly claims: readonly AcceptedClaim[];
  /** Equal for equal claims. */
  readonly claimsKey: string;
}

const known = new WeakMap<CacheEntry<ApiBinding>, BindingFacts>();
/** Thousands of workspaces have few different bindings. */
const capacity = 10_000;
const shared = new BoundedMap<string, BindingFacts>(capacity);

export function factsOf(entry: CacheEntry<ApiBinding>): BindingFacts {
  let facts = known.get(entry);
  if (facts === undefined) known.set(entry, (facts = read(entry)));
  return facts;
}

function read(entry: CacheEntry<ApiBinding>): BindingFacts {
  const binding = entry.parse();
  const provider = asClusterId(binding.status?.apiExportClusterName ?? '');
  const exportName = referenceOf(binding)?.name ?? '';
  const label = binding.metadata.labels?.[exportLabel] ?? '';
  const isEnding = binding.metadata.deletionTimestamp !== undefined;
  // The owner of the workspace can write the status but not the label, and setting the label required permission to bind that export.
  const offeredBy = provider !== '' && label === exportLabelValue(provider, exportName) ? { provider, exportName } : undefined;
  const bound = boundResources(binding.status)
    .filter(({ isVirtual }) => isVirtual !== true || offeredBy !== undefined)
    .map((one) => ({ ...one, ...(one.isVirtual === true && { offeredBy: offeredBy! }), ...(isEnding && { isEnding: true as const }) }));
  const accepted = (binding.spec?.permissionClaims ?? []).filter(({ state }) => state === 'Accepted');
  const claimsKey = accepted.length === 0 ? '' : JSON.stringify(accepted);
  const key = JSON.stringify([provider, exportName, label, bound, claimsKey]);
  let facts = shared.get(key);
  if (facts === undefined) {
    facts = { provider, exportName, label, bound, claims: accepted.map(claimOf), claimsKey };
    shared.set(key, facts);
  }
  return facts;
}

function claimOf({ group = '', resource, identityHash = '', verbs, selector }: ScopedClaim): AcceptedClaim {
  return {
    group,
    resource,
    identity: identityHash,
    verbs,
    selector: selector.matchAll === true ? everything : selectorOfObject(selector),
    labels: selector.matchAll === true ? {} : (selector.matchLabels ?? {}),
  };
}

/** Finds bindings by workspace, kind or export. */
export class Bindings {
  readonly #objects: EntryReader;

  constructor(objects: EntryReader) {
    this.#objects = objects;
  }

  /** Changes whenever any binding changes. */
  get generation(): number {
    return this.#objects.generation(apiBindings);
  }

  /** The bindings of a workspace, sorted by name. */
  in(cluster: ClusterId): readonly BindingFacts[] {
    const found: BindingFacts[] = [];
    this.#objects.walk(apiBindings, cluster, (entry) => {
      found.push(factsOf(entry));
      return true;
    });
    return found;
  }

  /** The binding that brings a kind into a workspace; undefined if no binding does. */
  bringing(cluster: ClusterId, { group, resource }: GroupResource): BindingFacts | undefined {
    return this.in(cluster).find(({ bound }) => bound.some((one) => one.group === group && one.resource === resource));
  }

  /** A workspace's binding to an export; undefined if it is not bound. */
  to(cluster: ClusterId, { provider, name }: { provider: ClusterId; name: string }): BindingFacts | undefined {
    let found: BindingFacts | undefined;
    this.#objects.walk(apiBindings, cluster, (entry) => {
      const facts = factsOf(entry);
      if (facts.exportName !== name || facts.provider !== provider) return true;
      found = facts;
      return false;
    });
    return found;
  }
}
