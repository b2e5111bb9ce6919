/** The first part of a text that looks like a version, such as `1.32.4` in `Client Version: v1.32.4-dispatcher`. */
export function findVersion(text: string): string | undefined {
  return /\bv?(\d+\.\d+\.\d+)/.exec(text)?.[1];
}

/** Negative if `a` is older than `b`, 0 if they are equal. */
export function compareVersions(a: string, b: string): number {
  const left = a.split('.').map(Number);
  const right = b.split('.').map(Number);
  for (let index = 0; index < 3; index++) {
    const difference = (left[index] ?? 0) - (right[index] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

export function versionFits(version: string | undefined, bounds: { readonly atLeast: string; readonly below?: string }): boolean {
  if (version === undefined || compareVersions(version, bounds.atLeast) < 0) return false;
  return bounds.below === undefined || compareVersions(version, bounds.below) < 0;
}
