import { made } from '@capstan/kinds';
import type { KubeObject } from '@capstan/machinery';
import { itemsOf, textOf } from '@capstan/machinery';
import type { AdmissionPlugin } from '../../registry/admission.ts';

const patience = 300;
const troubles = ['node.kubernetes.io/not-ready', 'node.kubernetes.io/unreachable'];

/** Lets pods stay on an unready or unreachable node for a while, unless they set their own tolerations. */
export const defaultTolerations: AdmissionPlugin = {
  name: 'DefaultTolerationSeconds',
  mutate({ resource, operation, subresource, object }) {
    if (resource.group !== '' || resource.resource !== 'pods' || subresource !== '' || object === undefined) return;
    if (operation === 'CREATE' || operation === 'UPDATE') tolerateTroubles(object);
  },
};

export function tolerateTroubles(pod: KubeObject): void {
  const spec = made(pod, 'spec');
  const given = itemsOf(spec['tolerations']);
  const tolerates = (trouble: string): boolean =>
    given.some(({ key, effect }) => ['', trouble].includes(textOf(key)) && ['', 'NoExecute'].includes(textOf(effect)));
  const missing = troubles.filter((trouble) => !tolerates(trouble));
  if (missing.length === 0) return;
  spec['tolerations'] = [
    ...given,
    ...missing.map((key) => ({ key, operator: 'Exists', effect: 'NoExecute', tolerationSeconds: patience })),
  ];
}
