import type { Pod } from './pod.ts';

/** A violation of a check: the reason in short, and the details. */
export interface Violation {
  readonly reason: string;
  readonly detail: string;
}

export interface Check {
  /** The first minor version of Kubernetes that has the check. */
  readonly since: number;
  /** The first version in which another check replaces it. */
  readonly until?: number;
  find(pod: Pod): Violation | undefined;
}

/** A check of the restricted level, which may replace one of the baseline level. */
export interface StricterCheck extends Check {
  readonly instead?: readonly Check[];
}

/** `container "a"`, `containers "a", "b"`. */
export function named(singular: string, names: readonly string[]): string {
  return `${plural(singular, names)} ${quoted(names)}`;
}

export function plural(singular: string, { length }: { readonly length: number }): string {
  return length === 1 ? singular : `${singular}s`;
}

export function quoted(texts: readonly string[]): string {
  return `"${texts.join('", "')}"`;
}

/** Deduplicated and sorted. */
export function sorted(texts: Iterable<string>): string[] {
  return [...new Set(texts)].sort();
}

/** The subject of a sentence: the pod, its containers, or both. */
export function setters(isSetByPod: boolean, containers: readonly string[]): string {
  return [...(isSetByPod ? ['pod'] : []), ...(containers.length > 0 ? [named('container', containers)] : [])].join(' and ');
}
