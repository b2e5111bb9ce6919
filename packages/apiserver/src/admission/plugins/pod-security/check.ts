import type { Pod } from './pod.ts';

/** What a check has against a pod: in short, and with what is wrong where. */
export interface Violation {
  readonly reason: string;
  readonly detail: string;
}

export interface Check {
  /** The minor version of Kubernetes from which on it counts. */
  readonly since: number;
  /** And from which on something else counts in its place. */
  readonly until?: number;
  find(pod: Pod): Violation | undefined;
}

/** A check of the restricted level: some take the place of one of the baseline level. */
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

/** Each once, in order. */
export function sorted(texts: Iterable<string>): string[] {
  return [...new Set(texts)].sort();
}

/** Whoever sets something, as the subject of a sentence: the pod, its containers, or both. */
export function setters(isSetByPod: boolean, containers: readonly string[]): string {
  return [...(isSetByPod ? ['pod'] : []), ...(containers.length > 0 ? [named('container', containers)] : [])].join(' and ');
}
