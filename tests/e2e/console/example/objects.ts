import type { Condition, KindReference } from '@capstan/api';

/** The beginning of the run: everything in the example happened some time before it. */
const began = Date.now();

/** The time so many minutes ago. */
export const ago = (minutes: number): string => `${new Date(began - minutes * 60_000).toISOString().slice(0, 19)}Z`;

/** The kind and the name of an object of the example. */
export const identity = (kind: KindReference, name: string, minutes: number) => ({
  apiVersion: `${kind.group}/${kind.version}`,
  kind: kind.kind,
  metadata: { name, uid: `${kind.kind}-${name}`, creationTimestamp: ago(minutes), generation: 1 },
});

/** The same in the namespace `default`. */
export function namespaced(kind: KindReference, name: string, minutes: number) {
  const { metadata, ...type } = identity(kind, name, minutes);
  return { ...type, metadata: { ...metadata, namespace: 'default' } };
}

export const condition = (
  type: string,
  status: 'True' | 'False',
  why: { reason: string; message?: string; minutes: number },
): Condition => ({
  type,
  status,
  reason: why.reason,
  message: why.message ?? '',
  lastTransitionTime: ago(why.minutes),
});

/** A number from 0 to 1 that looks like chance and is the same in each run. */
export const noise = (seed: number): number => {
  const value = Math.sin(seed * 12.9898) * 43_758.5453;
  return value - Math.floor(value);
};
