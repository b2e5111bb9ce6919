/** Parses `v2` or `v1beta3` into stage, major and minor. Undefined for any other name. */
function parse(version: string): { stage: number; major: number; minor: number } | undefined {
  const parts = /^v([1-9]\d*)(?:(alpha|beta)([1-9]\d*))?$/.exec(version);
  if (parts === null) return undefined;
  const stage = parts[2] === undefined ? 2 : parts[2] === 'beta' ? 1 : 0;
  return { stage, major: Number(parts[1]), minor: Number(parts[3] ?? 0) };
}

/** The order in which clients prefer versions: stable before beta before alpha, newer before older, then all other names alphabetically. */
export function byPreference(left: string, right: string): number {
  const a = parse(left);
  const b = parse(right);
  if (a === undefined || b === undefined) {
    if (a !== undefined) return -1;
    if (b !== undefined) return 1;
    return left < right ? -1 : left > right ? 1 : 0;
  }
  return b.stage - a.stage || b.major - a.major || b.minor - a.minor;
}
