import { createHash } from 'node:crypto';
import { type ClusterId, claimLabelPrefix } from '@capstan/api';
import { base62 } from '@capstan/api/hashes';
import type { AcceptedClaim, BindingFacts, Bindings } from '../../bindings/bindings.ts';
import { exportLabelValue } from '../../bindings/names.ts';
import type { CacheEntry } from '../../cache/entry.ts';
import { clusterOfKey } from '../../cache/key.ts';
import { labelledEntry, type Resource } from '../../registry/resource.ts';

/**
 * The labels with which kcp marks claimed objects. Here they are served but never stored: they always match the current bindings of the
 * workspace, and nobody can write them.
 */
export class ClaimLabels {
  readonly #bindings: Bindings;
  readonly #known = new WeakMap<AcceptedClaim, string>();

  /** For the last requested workspace: objects are visited workspace by workspace. */
  #last: { cluster: ClusterId; generation: number; claiming: readonly BindingFacts[] } | undefined;

  constructor(bindings: Bindings) {
    this.#bindings = bindings;
  }

  /** The object with its labels; the same object if nobody has a claim on it. */
  readonly show = (resource: Resource, entry: CacheEntry): CacheEntry => {
    let labels: Record<string, string> | undefined;
    for (const binding of this.#claiming(clusterOfKey(entry.key))) {
      const claim = binding.claims.find((one) => one.resource === resource.resource && one.group === resource.group);
      if (claim?.selector.matches(entry.labels) !== true) continue;
      labels ??= {};
      labels[claimLabelPrefix + exportLabelValue(binding.provider, binding.exportName)] = this.#valueOf(claim);
    }
    return labels === undefined ? entry : labelledEntry(entry, labels);
  };

  #claiming(cluster: ClusterId): readonly BindingFacts[] {
    const { generation } = this.#bindings;
    if (this.#last?.cluster !== cluster || this.#last.generation !== generation) {
      const claiming = this.#bindings.in(cluster).filter(({ claims, provider }) => claims.length > 0 && provider !== '');
      this.#last = { cluster, generation, claiming };
    }
    return this.#last.claiming;
  }

  #valueOf(claim: BindingFacts['claims'][number]): string {
    let value = this.#known.get(claim);
    if (value === undefined) {
      const { group, resource, identity } = claim;
      const text = JSON.stringify({
        ...(group !== '' && { group }),
        resource,
        verbs: null,
        ...(identity !== '' && { identityHash: identity }),
      });
      this.#known.set(claim, (value = base62(createHash('sha224').update(text).digest('hex'))));
    }
    return value;
  }
}
