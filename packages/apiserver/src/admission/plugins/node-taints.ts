import { made } from '@capstan/kinds';
import { itemsOf } from '@capstan/machinery';
import type { AdmissionPlugin } from '../../registry/admission.ts';

const notReady = 'node.kubernetes.io/not-ready';

/** Taints new nodes, so that they get no pods before they are ready. */
export const taintNodesByCondition: AdmissionPlugin = {
  name: 'TaintNodesByCondition',
  mutate({ resource, operation, subresource, object }) {
    if (operation !== 'CREATE' || resource.resource !== 'nodes' || resource.group !== '' || subresource !== '' || object === undefined)
      return;
    const spec = made(object, 'spec');
    const taints = itemsOf(spec['taints']);
    if (taints.some(({ key, effect }) => key === notReady && effect === 'NoSchedule')) return;
    spec['taints'] = [...taints, { key: notReady, effect: 'NoSchedule' }];
  },
};
