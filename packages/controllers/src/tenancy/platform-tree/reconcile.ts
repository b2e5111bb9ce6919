import { rootCluster, type Workspace } from '@capstan/api';

/** A workspace to create, by the path of its parent. */
export interface FirstWorkspace {
  readonly parent: string;
  readonly name: string;
  readonly type: string;
}

/**
 * The first workspaces of a new installation, in the order of their creation. If the last one exists, the tree was created before: a workspace that was deleted
 * since is not created again.
 */
export const firstWorkspaces: readonly FirstWorkspace[] = [
  { parent: rootCluster, name: 'main', type: 'organization' },
  { parent: `${rootCluster}:main`, name: 'default', type: 'project' },
  { parent: rootCluster, name: 'platform', type: 'universal' },
];

export interface TreeActions {
  readonly find: (workspace: FirstWorkspace) => Promise<Workspace | undefined>;
  /** Does nothing if it exists. */
  readonly create: (workspace: FirstWorkspace) => Promise<void>;
  /** Passes the time between two looks. */
  readonly wait: () => Promise<unknown>;
}

/** Creates the first workspaces, each once the one before is ready. */
export async function createTree({ find, create, wait }: TreeActions): Promise<void> {
  if ((await find(firstWorkspaces.at(-1)!)) !== undefined) return;
  for (const workspace of firstWorkspaces) {
    await create(workspace);
    while ((await find(workspace))?.status?.phase !== 'Ready') await wait();
  }
}
