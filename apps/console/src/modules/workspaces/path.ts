/** The path of the workspace above, if there is one. */
export function parentOf(path: string): string | undefined {
  const end = path.lastIndexOf(':');
  return end === -1 ? undefined : path.slice(0, end);
}

/** The last name of a path. */
export const nameOf = (path: string): string => path.slice(path.lastIndexOf(':') + 1);

/** The path of a page with the colons of its workspace as they are. Other programs encode them, and the links of the navigation do not. */
export const plainPagePath = (path: string): string => path.replace(/^\/w\/[^/]+/, (start) => start.replaceAll(/%3a/gi, ':'));

/** All workspaces above, from the top. */
export function ancestorsOf(path: string): readonly string[] {
  const parent = parentOf(path);
  return parent === undefined ? [] : [...ancestorsOf(parent), parent];
}
