import type { ClusterId } from '@capstan/api';
import type { ObjectReader } from '@capstan/kinds';
import { type Fields, fieldsOf, itemsOf, type KubeObject, textOf } from '@capstan/machinery';
import { ephemeralClaim } from '../../../authz/nodes/references.ts';
import { boundVolume } from '../../../authz/nodes/volumes.ts';

/** Whether a volume of a pod needs a token for this audience. The empty audience stands for this server. */
export function podNeedsAudience(
  objects: ObjectReader,
  { pod, cluster }: { pod: KubeObject; cluster: ClusterId },
  audience: string,
): boolean {
  const { namespace = '', name = '' } = pod.metadata;
  return itemsOf(fieldsOf(pod['spec'])['volumes']).some((volume) => {
    const sources = itemsOf(fieldsOf(volume['projected'])['sources']);
    const wants = (source: Fields): boolean =>
      source['serviceAccountToken'] !== undefined && textOf(fieldsOf(source['serviceAccountToken'])['audience']) === audience;
    if (sources.some(wants)) return true;
    const claim = volume['ephemeral'] !== undefined ? ephemeralClaim(name, volume) : fieldsOf(volume['persistentVolumeClaim'])['claimName'];
    const source = textOf(claim) === '' ? volume : fieldsOf(boundVolume(objects, { cluster, namespace, name: textOf(claim) })?.['spec']);
    const driver = textOf(fieldsOf(source['csi'])['driver']);
    return driver !== '' && driverNeedsAudience(objects, { cluster, driver }, audience);
  });
}

function driverNeedsAudience(
  objects: ObjectReader,
  { cluster, driver }: { cluster: ClusterId; driver: string },
  audience: string,
): boolean {
  const found = objects.get({ group: 'storage.k8s.io', resource: 'csidrivers', cluster, namespace: '', name: driver });
  return itemsOf(fieldsOf(found?.['spec'])['tokenRequests']).some((request) => textOf(request['audience']) === audience);
}
