import { isIPv6 } from 'node:net';
import {
  type FieldError,
  FieldPath,
  type Fields,
  fieldsOf,
  isAbsent,
  itemsOf,
  type KubeObject,
  names,
  numberOf,
  stringMapOf,
  textOf,
  textsOf,
  validateLabels,
} from '@capstan/machinery';
import { Findings } from '../shared/findings.ts';
import { repeats } from '../shared/repeats.ts';
import type { StrategyContext } from '../strategy.ts';
import { addressProblems, rangeProblems, specialAddressProblems } from './addresses.ts';
import {
  addressRange,
  isExternallyAccessible,
  isInAddressRange,
  isInPortRange,
  needsHealthPort,
  portRange,
  takenByOthers,
} from './service-allocation.ts';

const at = FieldPath.of('spec');
const protocols = ['SCTP', 'TCP', 'UDP'];
const types = ['ClusterIP', 'ExternalName', 'LoadBalancer', 'NodePort'];
const onlyBalancer = "may only be used when `type` is 'LoadBalancer'";
const day = 86_400;

function isHeadless(spec: Readonly<Fields>): boolean {
  return textsOf(spec['clusterIPs'])[0] === 'None';
}

export function portOrNameProblems(value: unknown): readonly string[] {
  return typeof value === 'string' ? names.portName(value) : names.portNumber(numberOf(value));
}

function checkType(found: Findings, spec: Readonly<Fields>): void {
  const type = textOf(spec['type']);
  if (itemsOf(spec['ports']).length === 0 && !isHeadless(spec) && type !== 'ExternalName') found.required(at.child('ports'));
  if ((type === 'LoadBalancer' || type === 'NodePort') && isHeadless(spec)) {
    found.invalid(at.child('clusterIPs').index(0), 'None', `may not be set to 'None' for ${type} services`);
  }
  if (type !== 'ExternalName') return;
  for (const field of ['clusterIPs', 'ipFamilies']) {
    if (textsOf(spec[field]).length > 0) found.forbidden(at.child(field), 'may not be set for ExternalName services');
  }
  if (!isAbsent(spec['ipFamilyPolicy'])) found.forbidden(at.child('ipFamilyPolicy'), 'may not be set for ExternalName services');
  const target = textOf(spec['externalName']).replace(/\.$/, '');
  if (target === '') found.required(at.child('externalName'));
  else found.invalid(at.child('externalName'), target, names.dns1123Subdomain(target));
}

function checkPorts(found: Findings, ports: readonly Fields[]): void {
  const seen = new Set<string>();
  for (const [index, port] of ports.entries()) {
    const path = at.child('ports').index(index);
    const name = textOf(port['name']);
    if (name !== '') {
      found.invalid(path.child('name'), name, names.dns1123Label(name));
      if (seen.has(name)) found.duplicate(path.child('name'), name);
      seen.add(name);
    } else if (ports.length > 1) found.required(path.child('name'));
    found.invalid(path.child('port'), numberOf(port['port']), names.portNumber(numberOf(port['port'])));
    found.oneOf(path.child('protocol'), port['protocol'], protocols);
    found.invalid(path.child('targetPort'), port['targetPort'] ?? 0, portOrNameProblems(port['targetPort']));
    if (!isAbsent(port['appProtocol'])) {
      const protocol = textOf(port['appProtocol']);
      found.invalid(path.child('appProtocol'), protocol, names.qualifiedName(protocol));
    }
  }
}

function checkAffinity(found: Findings, spec: Readonly<Fields>): void {
  found.oneOf(at.child('sessionAffinity'), spec['sessionAffinity'], ['ClientIP', 'None']);
  if (spec['sessionAffinity'] !== 'ClientIP') return;
  const path = at.child('sessionAffinityConfig', 'clientIP', 'timeoutSeconds');
  const seconds = numberOf(fieldsOf(fieldsOf(spec['sessionAffinityConfig'])['clientIP'])['timeoutSeconds']);
  if (seconds <= 0 || seconds > day) found.invalid(path, seconds, `must be greater than 0 and less than ${day}`);
}

function checkAddresses(found: Findings, spec: Readonly<Fields>): void {
  const path = at.child('clusterIPs');
  const addresses = textsOf(spec['clusterIPs']);
  const first = textOf(spec['clusterIP']);
  if (first === '' && addresses.length > 0) found.invalid(path, addresses, 'must be empty when `clusterIP` is not specified');
  if (first !== '' && addresses.length === 0) found.required(path);
  else if (first !== '' && addresses[0] !== first) found.invalid(path, addresses, 'first value must match `clusterIP`');
  const isRepeated = repeats<string>();
  for (const [index, family] of textsOf(spec['ipFamilies']).entries()) {
    if (family !== 'IPv4' && family !== 'IPv6') found.notSupported(at.child('ipFamilies').index(index), family, ['IPv4', 'IPv6']);
    if (isRepeated(family)) found.duplicate(at.child('ipFamilies').index(index), family);
  }
  found.optionalOneOf(at.child('ipFamilyPolicy'), spec['ipFamilyPolicy'], ['PreferDualStack', 'RequireDualStack', 'SingleStack']);
  if (isHeadless(spec)) {
    if (addresses.length > 1) found.invalid(path, addresses, "'None' must be the first and only value");
    return;
  }
  const before = found.errors.length;
  if (addresses.length > 2) found.invalid(path, addresses, 'may only hold up to 2 values');
  if (found.errors.length === before && spec['ipFamilyPolicy'] === 'RequireDualStack') {
    found.invalid(at.child('ipFamilyPolicy'), 'RequireDualStack', 'this cluster is not configured for dual-stack services');
  }
}

function checkExternalAddresses(found: Findings, spec: Readonly<Fields>): void {
  for (const [index, address] of textsOf(spec['externalIPs']).entries()) {
    const wrong = addressProblems(address);
    found.invalid(at.child('externalIPs').index(index), address, wrong.length > 0 ? wrong : specialAddressProblems(address));
  }
}

function checkPortsTogether(found: Findings, spec: Readonly<Fields>): void {
  const ports = itemsOf(spec['ports']);
  const path = at.child('ports');
  if (spec['type'] === 'ClusterIP') {
    for (const [index, port] of ports.entries()) {
      if (numberOf(port['nodePort']) !== 0)
        found.forbidden(path.index(index).child('nodePort'), "may not be used when `type` is 'ClusterIP'");
    }
  }
  const nodePorts = new Set<string>();
  for (const [index, port] of ports.entries()) {
    const key = `${textOf(port['protocol'])}/${numberOf(port['nodePort'])}`;
    if (numberOf(port['nodePort']) === 0) continue;
    if (nodePorts.has(key)) found.duplicate(path.index(index).child('nodePort'), port['nodePort']);
    nodePorts.add(key);
  }
  const numbers = new Set<string>();
  for (const [index, port] of ports.entries()) {
    const key = `${textOf(port['protocol'])}/${numberOf(port['port'])}`;
    if (numbers.has(key)) found.duplicate(path.index(index), duplicatePort(port));
    numbers.add(key);
  }
}

/** The form in which messages show a duplicate port. */
function duplicatePort(port: Fields): Fields {
  return { Name: '', Protocol: port['protocol'], AppProtocol: null, Port: port['port'], TargetPort: 0, NodePort: 0 };
}

function checkBalancer(found: Findings, spec: Readonly<Fields>): void {
  const isBalancer = spec['type'] === 'LoadBalancer';
  const ranges = textsOf(spec['loadBalancerSourceRanges']);
  const path = at.child('LoadBalancerSourceRanges');
  if (ranges.length > 0 && !isBalancer) found.forbidden(path, onlyBalancer);
  for (const [index, range] of ranges.entries()) found.invalid(path.index(index), range.trim(), rangeProblems(range.trim()));
  if (isBalancer) {
    const balancerClass = textOf(spec['loadBalancerClass']);
    if (!isAbsent(spec['loadBalancerClass'])) {
      found.invalid(at.child('loadBalancerClass'), balancerClass, names.qualifiedName(balancerClass));
    }
    return;
  }
  for (const field of ['allocateLoadBalancerNodePorts', 'loadBalancerClass']) {
    if (!isAbsent(spec[field])) found.forbidden(at.child(field), onlyBalancer);
  }
}

function checkTraffic(found: Findings, spec: Readonly<Fields>): void {
  const policies = ['Cluster', 'Local'];
  const external = textOf(spec['externalTrafficPolicy']);
  if (isExternallyAccessible(spec)) found.oneOf(at.child('externalTrafficPolicy'), external, policies);
  else if (external !== '') {
    found.invalid(at.child('externalTrafficPolicy'), external, 'may only be set for externally-accessible services');
  }
  const health = numberOf(spec['healthCheckNodePort']);
  if (needsHealthPort(spec)) found.invalid(at.child('healthCheckNodePort'), health, names.portNumber(health));
  else if (health !== 0) {
    const rule = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'";
    found.invalid(at.child('healthCheckNodePort'), health, rule);
  }
  found.optionalOneOf(at.child('internalTrafficPolicy'), spec['internalTrafficPolicy'], policies);
  found.optionalOneOf(at.child('trafficDistribution'), spec['trafficDistribution'], ['PreferClose', 'PreferSameZone', 'PreferSameNode']);
}

/** Addresses and ports chosen by the client must be in range and free. */
function checkAllocations(found: Findings, service: KubeObject, context: StrategyContext): void {
  const spec = fieldsOf(service['spec']);
  const taken = takenByOthers(service, context);
  const addresses = textsOf(spec['clusterIPs']);
  for (const [index, address] of addresses.entries()) {
    if (address === 'None') continue;
    const path = at.child('clusterIPs');
    if (isIPv6(address)) found.invalid(path.index(index), addresses, 'IPv6 is not configured on this cluster');
    else if (!isInAddressRange(address)) {
      const rule = `the provided IP (${address}) is not in the valid range. The range of valid IPs is ${addressRange}`;
      found.invalid(path, addresses, `failed to allocate IP ${address}: ${rule}`);
    } else if (taken.addresses.has(address)) {
      found.invalid(path, addresses, `failed to allocate IP ${address}: provided IP is already allocated`);
    }
  }
  for (const [index, port] of itemsOf(spec['ports']).entries()) {
    const number = numberOf(port['nodePort']);
    if (number === 0) continue;
    const path = at.child('ports').index(index).child('nodePort');
    if (!isInPortRange(number)) {
      found.invalid(path, number, `provided port is not in the valid range. The range of valid ports is ${portRange}`);
    } else if (taken.ports.has(number)) found.invalid(path, number, 'provided port is already allocated');
  }
}

export function validateService(service: KubeObject, context: StrategyContext): FieldError[] {
  const found = new Findings();
  const spec = fieldsOf(service['spec']);
  // If an address is invalid, nothing else is validated.
  for (const [index, address] of textsOf(spec['clusterIPs']).entries()) {
    if (address !== 'None') found.invalid(at.child('clusterIPs').index(index), address, addressProblems(address));
  }
  if (found.errors.length > 0) return found.errors;
  checkType(found, spec);
  checkPorts(found, itemsOf(spec['ports']));
  found.add(validateLabels(stringMapOf(spec['selector']), at.child('selector')));
  checkAffinity(found, spec);
  if (spec['type'] !== 'ExternalName') checkAddresses(found, spec);
  checkExternalAddresses(found, spec);
  found.oneOf(at.child('type'), spec['type'], types);
  checkPortsTogether(found, spec);
  checkBalancer(found, spec);
  checkTraffic(found, spec);
  if (found.errors.length === 0) checkAllocations(found, service, context);
  return found.errors;
}

export function validateServiceUpdate(service: KubeObject, old: KubeObject): FieldError[] {
  const found = new Findings();
  const spec = fieldsOf(service['spec']);
  const before = fieldsOf(old['spec']);
  if (spec['type'] !== 'ExternalName' && before['type'] !== 'ExternalName' && !(isHeadless(spec) && isHeadless(before))) {
    const addresses = textsOf(spec['clusterIPs']);
    const path = at.child('clusterIPs').index(0);
    const first = textsOf(before['clusterIPs'])[0];
    if (first !== undefined && addresses.length === 0) found.invalid(path, addresses, 'primary clusterIP can not be unset');
    else if (first !== undefined && first !== addresses[0]) found.invalid(path, addresses, 'may not change once set');
  }
  if (spec['type'] === 'LoadBalancer' && before['type'] === 'LoadBalancer' && spec['loadBalancerClass'] !== before['loadBalancerClass']) {
    found.invalid(at.child('loadBalancerClass'), spec['loadBalancerClass'], 'may not change once set');
  }
  if (needsHealthPort(spec) && needsHealthPort(before) && spec['healthCheckNodePort'] !== before['healthCheckNodePort']) {
    found.forbidden(at.child('healthCheckNodePort'), 'field is immutable');
  }
  return found.errors;
}
