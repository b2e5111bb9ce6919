import { wholeAmount } from './amounts.ts';
import type { Measure } from './measure.ts';

interface ServiceSpec {
  readonly type?: string;
  readonly ports?: readonly { readonly nodePort?: number }[];
  readonly allocateLoadBalancerNodePorts?: boolean;
}

/** Services use node ports and load balancers. Node ports count as requested, because they are not allocated yet. */
export const serviceMeasure: Measure = {
  looksInside: true,
  usage(object) {
    const spec = (object['spec'] ?? {}) as ServiceSpec;
    const one = wholeAmount(1);
    return new Map([
      ['count/services', one],
      ['services', one],
      ['services.loadbalancers', wholeAmount(spec.type === 'LoadBalancer' ? 1 : 0)],
      ['services.nodeports', wholeAmount(nodePorts(spec))],
    ]);
  },
  isInScope: () => false,
};

function nodePorts({ type, ports = [], allocateLoadBalancerNodePorts }: ServiceSpec): number {
  if (type !== 'NodePort' && type !== 'LoadBalancer') return 0;
  if (type === 'NodePort' || allocateLoadBalancerNodePorts !== false) return ports.length;
  return ports.filter(({ nodePort = 0 }) => nodePort !== 0).length;
}
