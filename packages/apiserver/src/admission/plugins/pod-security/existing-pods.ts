import type { KubeObject } from '@capstan/machinery';
import { violations } from './evaluate.ts';
import { podOf } from './pod.ts';
import { nameOf, type Standard } from './policy.ts';

/** A namespace may contain more pods than can be checked during a request. */
const limit = 3000;

/** Warnings about existing pods that violate the new standard. */
export function warningsAbout(pods: readonly KubeObject[], namespace: string, standard: Standard): string[] {
  const checked = distinctFirst(pods).slice(0, limit);
  const culprits = new Map<string, string[]>();
  for (const pod of checked) {
    const found = violations(standard, podOf(pod));
    if (found.length === 0) continue;
    const why = found.map(({ reason }) => reason).join(', ');
    const names = culprits.get(why);
    if (names === undefined) culprits.set(why, [pod.metadata.name ?? '']);
    else names.push(pod.metadata.name ?? '');
  }
  const warnings: string[] = [];
  if (checked.length < pods.length) {
    warnings.push(`new PodSecurity enforce level only checked against the first ${checked.length} of ${pods.length} existing pods`);
  }
  if (culprits.size > 0) {
    warnings.push(`existing pods in namespace "${namespace}" violate the new PodSecurity enforce level "${nameOf(standard)}"`);
  }
  return [...warnings, ...[...culprits].map(([why, names]) => `${subject(names)}: ${why}`).sort()];
}

function subject(names: readonly string[]): string {
  const first = [...names].sort()[0]!;
  if (names.length === 1) return first;
  return `${first} (and ${names.length - 1} other ${names.length === 2 ? 'pod' : 'pods'})`;
}

/** The pods of one controller are alike, so one of each comes first and the others last. */
function distinctFirst(pods: readonly KubeObject[]): readonly KubeObject[] {
  if (pods.length <= limit) return pods;
  const seen = new Set<string>();
  const first: KubeObject[] = [];
  const others: KubeObject[] = [];
  for (const pod of pods) {
    const controller = pod.metadata.ownerReferences?.find((owner) => owner.controller === true)?.uid;
    if (controller !== undefined && seen.has(controller)) others.push(pod);
    else first.push(pod);
    if (controller !== undefined) seen.add(controller);
  }
  return [...first, ...others];
}
