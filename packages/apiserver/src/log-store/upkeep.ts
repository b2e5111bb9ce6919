import { clusterOfKey } from '../cache/key.ts';
import type { WatchCache } from '../cache/watch-cache.ts';
import { logicalClusters } from '../workspaces/tree.ts';
import type { LogStore } from './store.ts';

export interface LogUpkeepOptions {
  readonly cache: WatchCache;
  readonly signal: AbortSignal;
  readonly onError: (error: unknown) => void;
  /** How often old logs are looked for, in milliseconds. */
  readonly every?: number;
}

/** Deletes old output, and that of workspaces that are deleted. */
export function keepLogsTidy(logs: LogStore, { cache, signal, onError, every = 600_000 }: LogUpkeepOptions): void {
  cache.resource(logicalClusters).listeners.add({
    changed: (events) => {
      for (const { type, entry } of events) if (type === 'DELETED') void logs.removeWorkspace(clusterOfKey(entry.key)).catch(onError);
    },
  });
  const timer = setInterval(() => void logs.sweep().catch(onError), every).unref();
  signal.addEventListener('abort', () => clearInterval(timer), { once: true });
}
