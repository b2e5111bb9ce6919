import { createReadStream } from 'node:fs';
import type { Readable } from 'node:stream';
import type { Artifact } from '@capstan/api';
import type { ArtifactStore } from './store.ts';

/** The artifacts of this server, for other API servers. */
export interface RelayedArtifacts {
  list(): Promise<readonly Artifact[]>;
  remove(sha256: string): Promise<boolean>;
  /** From a byte on; undefined if there is no such artifact. */
  open(sha256: string, from: number): Promise<{ readonly size: number; readonly body: Readable } | undefined>;
}

export function relayedArtifacts(store: ArtifactStore): RelayedArtifacts {
  return {
    list: () => store.list(),
    remove: (sha256) => store.remove(sha256),
    async open(sha256, from) {
      const found = await store.find(sha256);
      return found && { size: found.size, body: createReadStream(store.pathOf(sha256), { start: from, highWaterMark: 256 << 10 }) };
    },
  };
}
