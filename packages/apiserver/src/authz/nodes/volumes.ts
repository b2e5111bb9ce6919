import type { ClusterId } from '@capstan/api';
import type { ObjectReader } from '@capstan/kinds';
import { fieldsOf, type KubeObject, textOf } from '@capstan/machinery';

/** The volume of a claim, if both are bound to each other. */
export function boundVolume(
  objects: ObjectReader,
  { cluster, namespace, name }: { cluster: ClusterId; namespace: string; name: string },
): KubeObject | undefined {
  const claim = objects.get({ group: '', resource: 'persistentvolumeclaims', cluster, namespace, name });
  const volumeName = textOf(fieldsOf(claim?.['spec'])['volumeName']);
  if (volumeName === '') return undefined;
  const volume = objects.get({ group: '', resource: 'persistentvolumes', cluster, namespace: '', name: volumeName });
  const bound = fieldsOf(fieldsOf(volume?.['spec'])['claimRef']);
  return bound['namespace'] === namespace && bound['name'] === name ? volume : undefined;
}
