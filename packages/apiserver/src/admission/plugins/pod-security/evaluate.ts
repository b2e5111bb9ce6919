import { baselineChecks } from './baseline.ts';
import type { Check, Violation } from './check.ts';
import type { Pod } from './pod.ts';
import type { Standard } from './policy.ts';
import { restrictedChecks } from './restricted.ts';

/** The last version that changed a check. */
const newest = Math.max(...[...baselineChecks, ...restrictedChecks].map(({ since }) => since));

const known = new Map<string, readonly Check[]>();

/** The violations of a standard by a pod. */
export function violations(standard: Standard, pod: Pod): Violation[] {
  if (standard.level === 'privileged') return [];
  const found: Violation[] = [];
  for (const check of checksOf(standard)) {
    const violation = check.find(pod);
    if (violation !== undefined) found.push(violation);
  }
  return found;
}

/** On one line: `privileged (container "a" must not …), host namespaces (hostPID=true)`. */
export function described(found: readonly Violation[]): string {
  return found.map(({ reason, detail }) => `${reason} (${detail})`).join(', ');
}

function checksOf({ level, version }: Standard): readonly Check[] {
  const minor = version === 'latest' ? newest : Math.min(newest, Number(version.slice('v1.'.length)));
  const key = `${level}:${minor}`;
  let checks = known.get(key);
  if (checks === undefined) known.set(key, (checks = select(level === 'restricted', minor)));
  return checks;
}

function select(isRestricted: boolean, minor: number): readonly Check[] {
  const counts = ({ since, until }: Check): boolean => since <= minor && (until === undefined || minor < until);
  const baseline = baselineChecks.filter(counts);
  if (!isRestricted) return baseline;
  const stricter = restrictedChecks.filter(counts);
  const replaced = new Set(stricter.flatMap(({ instead }) => instead ?? []));
  return [...baseline.filter((check) => !replaced.has(check)), ...stricter];
}
