import type { Change } from '@capstan/client';
import { type KubeObject, sameJson } from '@capstan/machinery';

/** Whether a change is worth a reconcile. */
export type Predicate<T extends KubeObject = KubeObject> = (change: Change<T>) => boolean;

/** Ignores updates that did not change the spec, mostly those of status. The start of a deletion counts. */
export const generationChanged: Predicate = (change) =>
  change.type !== 'updated' ||
  change.object.metadata.generation === undefined ||
  change.object.metadata.generation !== change.old.metadata.generation ||
  change.object.metadata.deletionTimestamp !== change.old.metadata.deletionTimestamp;

export const labelsChanged: Predicate = (change) =>
  change.type !== 'updated' || !sameJson(change.object.metadata.labels ?? {}, change.old.metadata.labels ?? {});

export const annotationsChanged: Predicate = (change) =>
  change.type !== 'updated' || !sameJson(change.object.metadata.annotations ?? {}, change.old.metadata.annotations ?? {});

export const anyOf =
  <T extends KubeObject>(...predicates: readonly Predicate<T>[]): Predicate<T> =>
  (change) =>
    predicates.some((predicate) => predicate(change));

export const allOf =
  <T extends KubeObject>(...predicates: readonly Predicate<T>[]): Predicate<T> =>
  (change) =>
    predicates.every((predicate) => predicate(change));
