import type { ClusterId } from '@capstan/api';
import { clusterOfKey } from './key.ts';

/** How many characters the stored objects of each workspace have. Characters, because to count bytes means to read all of them. */
export class StoredSizes {
  readonly #sizes = new Map<ClusterId, number>();
  #grown = 0;

  /** By how much workspaces have grown, all together, since the server started. Never decreases. */
  get grown(): number {
    return this.#grown;
  }

  of(cluster: ClusterId): number {
    return this.#sizes.get(cluster) ?? 0;
  }

  /** The workspaces that hold something. */
  all(): Iterable<readonly [ClusterId, number]> {
    return this.#sizes;
  }

  /** An object became longer or shorter by so many characters. */
  change(key: string, characters: number): void {
    const cluster = clusterOfKey(key);
    const size = (this.#sizes.get(cluster) ?? 0) + characters;
    if (size > 0) this.#sizes.set(cluster, size);
    else this.#sizes.delete(cluster);
    if (characters > 0) this.#grown += characters;
  }

  clear(): void {
    this.#sizes.clear();
  }
}
