import { type Fields, fieldsOf, isAbsent, itemsOf, type KubeObject, names, numberOf, sameJson, textOf, textsOf } from '@capstan/machinery';
import { warnService } from '../pods/warnings.ts';
import { applyDefaults, type Defaults, made } from '../shared/defaulting.ts';
import { separateStatus } from '../shared/status.ts';
import type { Strategy } from '../strategy.ts';
import { validateServiceStatus } from './load-balancer-status.ts';
import { allocate, isExternallyAccessible, keepAllocated, needsAddress, needsHealthPort, needsNodePorts } from './service-allocation.ts';
import { validateService, validateServiceUpdate } from './service-validation.ts';

const servicePort: Defaults = {
  set: { protocol: 'TCP' },
  also: (port) => {
    if (isAbsent(port['targetPort']) || port['targetPort'] === 0 || port['targetPort'] === '') port['targetPort'] = port['port'];
  },
};

const threeHours = 10_800;

function defaultService(service: KubeObject): void {
  const spec = made(service, 'spec');
  applyDefaults(spec, { set: { sessionAffinity: 'None', type: 'ClusterIP' }, each: { ports: servicePort } });
  if (spec['sessionAffinity'] === 'None') delete spec['sessionAffinityConfig'];
  if (spec['sessionAffinity'] === 'ClientIP') {
    applyDefaults(made(made(spec, 'sessionAffinityConfig'), 'clientIP'), { set: { timeoutSeconds: threeHours } });
  }
  if (isExternallyAccessible(spec)) applyDefaults(spec, { set: { externalTrafficPolicy: 'Cluster' } });
  if (needsNodePorts(spec) || spec['type'] === 'ClusterIP') applyDefaults(spec, { setOptional: { internalTrafficPolicy: 'Cluster' } });
  if (spec['type'] !== 'LoadBalancer') return;
  applyDefaults(spec, { set: { allocateLoadBalancerNodePorts: true } });
  for (const ingress of itemsOf(fieldsOf(fieldsOf(service['status'])['loadBalancer'])['ingress'])) {
    if (textOf(ingress['ip']) !== '') applyDefaults(ingress, { setOptional: { ipMode: 'VIP' } });
  }
}

/** Only IPv4 is served. A headless service without a selector is dual-stack, as its endpoints may have any family. */
function setFamilies(spec: Fields): void {
  if (!needsAddress(spec)) return;
  const open = spec['clusterIP'] === 'None' && Object.keys(fieldsOf(spec['selector'])).length === 0;
  applyDefaults(spec, { setOptional: { ipFamilyPolicy: open ? 'RequireDualStack' : 'SingleStack' } });
  if (textsOf(spec['ipFamilies']).length === 0) {
    spec['ipFamilies'] = open && spec['ipFamilyPolicy'] !== 'SingleStack' ? ['IPv4', 'IPv6'] : ['IPv4'];
  }
}

function mirrorAddress(spec: Fields): void {
  if (textOf(spec['clusterIP']) !== '' && textsOf(spec['clusterIPs']).length === 0) spec['clusterIPs'] = [spec['clusterIP']];
}

/** A change of `clusterIP` alone also applies to `clusterIPs`. */
function followAddress(spec: Fields, old: Readonly<Fields>): void {
  if (spec['clusterIP'] === old['clusterIP'] || !sameJson(spec['clusterIPs'], old['clusterIPs'])) return;
  if (textOf(spec['clusterIP']) === '') delete spec['clusterIPs'];
  else spec['clusterIPs'] = [spec['clusterIP']];
}

/** Clears allocated fields that the new type does not use, unless the client changed them: then validation reports them. */
function dropUnused(service: KubeObject, spec: Fields, old: Readonly<Fields>): void {
  const drop = (...fields: string[]) => {
    if (fields.every((field) => sameJson(spec[field], old[field]))) for (const field of fields) delete spec[field];
  };
  if (needsAddress(old) && !needsAddress(spec)) {
    drop('clusterIP', 'clusterIPs');
    drop('ipFamilies');
    drop('ipFamilyPolicy');
    drop('internalTrafficPolicy');
  }
  const nodePorts = (ports: unknown) =>
    itemsOf(ports)
      .map((port) => numberOf(port['nodePort']))
      .join();
  if (needsNodePorts(old) && !needsNodePorts(spec) && nodePorts(old['ports']) === nodePorts(spec['ports'])) {
    for (const port of itemsOf(spec['ports'])) delete port['nodePort'];
  }
  if (needsHealthPort(old) && !needsHealthPort(spec)) drop('healthCheckNodePort');
  if (old['type'] === 'LoadBalancer' && spec['type'] !== 'LoadBalancer') {
    drop('allocateLoadBalancerNodePorts');
    drop('loadBalancerClass');
  }
  if (isExternallyAccessible(old) && !isExternallyAccessible(spec)) drop('externalTrafficPolicy');
  if (spec['type'] !== 'LoadBalancer') service['status'] = { ...fieldsOf(service['status']), loadBalancer: {} };
}

const serviceStrategy: Strategy = separateStatus(
  {
    validateName: names.dns1035Label,
    default: defaultService,
    prepareForCreate: (service, context) => {
      const spec = made(service, 'spec');
      mirrorAddress(spec);
      setFamilies(spec);
      allocate(service, spec, context);
      warnService(context.warn, service);
    },
    prepareForUpdate: (service, old, context) => {
      const spec = made(service, 'spec');
      const oldSpec = fieldsOf(old['spec']);
      keepAllocated(spec, oldSpec);
      followAddress(spec, oldSpec);
      dropUnused(service, spec, oldSpec);
      mirrorAddress(spec);
      setFamilies(spec);
      allocate(service, spec, context);
      warnService(context.warn, service);
    },
    validate: validateService,
    validateUpdate: validateServiceUpdate,
    status: { validateUpdate: validateServiceStatus },
    createOnUpdate: true,
    returnDeletedObject: true,
    selectableLabels: ['spec.clusterIP', 'spec.type'],
    selectableFields: (service) => {
      const spec = fieldsOf(service['spec']);
      return { 'spec.clusterIP': textOf(spec['clusterIP']), 'spec.type': textOf(spec['type']) };
    },
  },
  () => ({ loadBalancer: {} }),
);

export const serviceStrategies = new Map<string, Strategy>([['/services', serviceStrategy]]);
