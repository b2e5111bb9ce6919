import { useParams } from '@tanstack/react-router';

/** The path of the workspace in the address of the page. */
export function useWorkspace(): string {
  const { workspace } = useParams({ strict: false });
  if (workspace === undefined) throw new Error('the address of this page names no workspace');
  return workspace;
}
