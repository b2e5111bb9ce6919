import { nodeUnitName, unitLabel, unitRunAnnotation } from '@capstan/api';
import type { KubeObject } from '@capstan/machinery';

/** The name of the NodeUnit that a pod shows. The platform writes these pods, so they say which start of which unit they show. */
export function shownNodeUnit({ metadata: { labels, annotations, ownerReferences } }: KubeObject): string | undefined {
  const run = Number(annotations?.[unitRunAnnotation]);
  const owner = ownerReferences?.find(({ controller }) => controller === true);
  if (labels?.[unitLabel] === undefined || owner?.uid === undefined || !Number.isSafeInteger(run)) return undefined;
  return nodeUnitName(owner.uid, run);
}
