import { rename, symlink, writeFile } from 'node:fs/promises';

/**
 * Paths for namespaces that do not exist yet. Podman looks at the path when it creates a container, and enters the namespace when the program is about to start. Until then, an
 * ordinary file is there, which nothing can enter: a container that starts too early fails.
 */
export async function reservePlace(path: string): Promise<void> {
  await writeFile(path, '', { mode: 0o600 });
}

/** From now on, the path leads to a namespace of this process. */
export async function fillPlace(path: string, { pid, space }: { readonly pid: number; readonly space: 'net' | 'pid' }): Promise<void> {
  await symlink(`/proc/${pid}/ns/${space}`, `${path}.link`);
  await rename(`${path}.link`, path);
}
