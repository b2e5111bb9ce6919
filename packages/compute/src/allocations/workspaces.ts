import { type LogicalCluster, logicalClusterKind, logicalClusterName, pathAnnotation } from '@capstan/api';
import { type Client, isForbidden, isNotFound } from '@capstan/client';
import { ignoring } from '@capstan/controller';
import { BoundedMap } from '@capstan/machinery';

const mostKnown = 100_000;

/** The paths of workspaces by their ids. A workspace keeps its path as long as it exists, so each is read once. */
export class WorkspacePaths {
  readonly #known = new BoundedMap<string, string>(mostKnown);

  pathOf(cluster: string): string | undefined {
    return this.#known.get(cluster);
  }

  set(cluster: string, path: string): void {
    if (!this.#known.has(cluster)) this.#known.set(cluster, path);
  }

  /** Reads the path of a workspace through the view of the export, which its owner may have forbidden. */
  async learn(cluster: string, client: Client, signal: AbortSignal): Promise<void> {
    if (this.#known.has(cluster)) return;
    const reading = client.cluster(cluster).resource<LogicalCluster>(logicalClusterKind).get(logicalClusterName, { signal });
    const path = (await ignoring(reading, isForbidden, isNotFound))?.metadata.annotations?.[pathAnnotation];
    if (path !== undefined) this.#known.set(cluster, path);
  }
}
