/** `root:acme:research`, `root:acme`, `root`. */
export function pathsUpFrom(path: string): string[] {
  const names = path.split(':');
  return names.map((_, index) => names.slice(0, names.length - index).join(':'));
}

/** Whether a path is that of a home: `user:ann`, or the id of the workspace if the name of the user cannot be part of a path. */
export function isHome(path: string): boolean {
  const names = path.split(':');
  return names[0] === 'user' ? names.length === 2 : names.length === 1 && names[0] !== 'root';
}

/** Whether a workspace is another one, or below it. */
export function isWithin(path: string, above: string): boolean {
  return path === above || path.startsWith(`${above}:`);
}
