import { isIPv4, isIPv6 } from 'node:net';
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
  sameJson,
  textOf,
  textsOf,
} from '@capstan/machinery';
import { addressProblems, specialAddressProblems } from '../services/addresses.ts';
import { applyDefaults } from '../shared/defaulting.ts';
import { Findings } from '../shared/findings.ts';
import type { Strategy, StrategyContext } from '../strategy.ts';

const protocols = ['SCTP', 'TCP', 'UDP'];
const mostEndpoints = 1000;
const mostAddresses = 100;

function checkOptionalName(found: Findings, at: FieldPath, rule: { value: unknown; check: (text: string) => string[] }): void {
  if (!isAbsent(rule.value)) found.invalid(at, rule.value, rule.check(textOf(rule.value)));
}

function checkEndpointAddress(found: Findings, at: FieldPath, address: Readonly<Fields>): void {
  const ip = textOf(address['ip']);
  found.invalid(at.child('ip'), ip, addressProblems(ip));
  const hostname = textOf(address['hostname']);
  if (hostname !== '') found.invalid(at.child('hostname'), hostname, names.dns1123Label(hostname));
  checkOptionalName(found, at.child('nodeName'), { value: address['nodeName'], check: names.dns1123Subdomain });
  if (addressProblems(ip).length > 0) found.invalid(at.child('ip'), ip, 'must be a valid IP address');
  else found.invalid(at.child('ip'), ip, specialAddressProblems(ip));
}

function checkEndpointPort(found: Findings, at: FieldPath, { port, isNameRequired }: { port: Fields; isNameRequired: boolean }): void {
  const name = textOf(port['name']);
  if (name !== '') found.invalid(at.child('name'), name, names.dns1123Label(name));
  else if (isNameRequired) found.required(at.child('name'));
  found.invalid(at.child('port'), numberOf(port['port']), names.portNumber(numberOf(port['port'])));
  found.oneOf(at.child('protocol'), port['protocol'], protocols);
  checkOptionalName(found, at.child('appProtocol'), { value: port['appProtocol'], check: names.qualifiedName });
}

function validateEndpoints(endpoints: KubeObject): FieldError[] {
  const found = new Findings();
  for (const [index, subset] of itemsOf(endpoints['subsets']).entries()) {
    const at = FieldPath.of('subsets').index(index);
    const ready = itemsOf(subset['addresses']);
    const waiting = itemsOf(subset['notReadyAddresses']);
    const ports = itemsOf(subset['ports']);
    if (ready.length === 0 && waiting.length === 0) found.required(at, 'must specify `addresses` or `notReadyAddresses`');
    for (const [position, address] of ready.entries()) checkEndpointAddress(found, at.child('addresses').index(position), address);
    for (const [position, address] of waiting.entries())
      checkEndpointAddress(found, at.child('notReadyAddresses').index(position), address);
    for (const [position, port] of ports.entries()) {
      checkEndpointPort(found, at.child('ports').index(position), { port, isNameRequired: ports.length > 1 });
    }
  }
  return found.errors;
}

function checkSliceAddress(
  found: Findings,
  at: FieldPath,
  { address, type, index }: { address: string; type: string; index: number },
): void {
  const path = at.index(index);
  if (type === 'FQDN') {
    found.invalid(path, address, names.dns1123Subdomain(address.replace(/\.$/, '')));
    return;
  }
  const problems = addressProblems(address);
  if (problems.length > 0) {
    found.invalid(path, address, problems);
    return;
  }
  if (type === 'IPv4' && !isIPv4(address)) found.invalid(at, address, 'must be an IPv4 address');
  if (type === 'IPv6' && !isIPv6(address)) found.invalid(at, address, 'must be an IPv6 address');
  found.invalid(path, address, specialAddressProblems(address));
}

function validateSlice(slice: KubeObject): FieldError[] {
  const found = new Findings();
  const type = textOf(slice['addressType']);
  found.oneOf(FieldPath.of('addressType'), type, ['FQDN', 'IPv4', 'IPv6']);
  const seen = new Set<string>();
  for (const [index, port] of itemsOf(slice['ports']).entries()) {
    const at = FieldPath.of('ports').index(index);
    const name = textOf(port['name']);
    if (name !== '') found.invalid(at.child('name'), name, names.dns1123Label(name));
    if (seen.has(name)) found.duplicate(at.child('name'), name);
    seen.add(name);
    found.oneOf(at.child('protocol'), port['protocol'], protocols);
    checkOptionalName(found, at.child('appProtocol'), { value: port['appProtocol'], check: names.qualifiedName });
  }
  const endpoints = itemsOf(slice['endpoints']);
  if (endpoints.length > mostEndpoints) found.tooMany(FieldPath.of('endpoints'), endpoints.length, mostEndpoints);
  else
    for (const [index, endpoint] of endpoints.entries()) checkEndpoint(found, FieldPath.of('endpoints').index(index), { endpoint, type });
  return found.errors;
}

function checkEndpoint(found: Findings, at: FieldPath, { endpoint, type }: { endpoint: Fields; type: string }): void {
  const addresses = textsOf(endpoint['addresses']);
  const path = at.child('addresses');
  if (addresses.length === 0) found.required(path, 'must contain at least 1 address');
  else if (addresses.length > mostAddresses) found.tooMany(path, addresses.length, mostAddresses);
  for (const [index, address] of addresses.entries()) checkSliceAddress(found, path, { address, type, index });
  checkOptionalName(found, at.child('nodeName'), { value: endpoint['nodeName'], check: names.dns1123Subdomain });
  checkOptionalName(found, at.child('hostname'), { value: endpoint['hostname'], check: names.dns1123Label });
  const hints = fieldsOf(endpoint['hints']);
  checkHints(found, at.child('hints', 'forZones'), { hints: itemsOf(hints['forZones']), check: names.labelValue });
  checkHints(found, at.child('hints', 'forNodes'), { hints: itemsOf(hints['forNodes']), check: names.dns1123Subdomain });
}

/** Validates the hints about which zones or nodes should use the endpoint. */
function checkHints(
  found: Findings,
  at: FieldPath,
  { hints, check }: { hints: readonly Fields[]; check: (name: string) => string[] },
): void {
  const seen = new Set<string>();
  for (const [index, hint] of hints.entries()) {
    const name = textOf(hint['name']);
    if (seen.has(name)) found.duplicate(at.index(index).child('name'), name);
    else found.invalid(at.index(index).child('name'), name, check(name));
    seen.add(name);
  }
}

function warnOfEndpoints(_endpoints: KubeObject, { warn }: StrategyContext): void {
  warn('v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice');
}

export const discoveryStrategies = new Map<string, Strategy>([
  [
    '/endpoints',
    {
      default: (object) => applyDefaults(object, { each: { subsets: { each: { ports: { set: { protocol: 'TCP' } } } } } }),
      prepareForCreate: warnOfEndpoints,
      prepareForUpdate: (endpoints, _old, context) => warnOfEndpoints(endpoints, context),
      validate: validateEndpoints,
      createOnUpdate: true,
    },
  ],
  [
    'discovery.k8s.io/endpointslices',
    {
      default: (object) => applyDefaults(object, { each: { ports: { set: { name: '', protocol: 'TCP' } } } }),
      prepareForCreate: (slice, { warn }) => {
        if (slice['addressType'] === 'FQDN') warn('spec.addressType: FQDN endpoints are deprecated');
      },
      prepareForUpdate: (slice, old) => {
        // Consumers find slices by label, so a change of labels increments the generation.
        if (!sameJson(slice.metadata.labels, old.metadata.labels)) slice.metadata.generation = (old.metadata.generation ?? 0) + 1;
      },
      validate: validateSlice,
      validateUpdate: (slice, old) => {
        const found = new Findings();
        found.immutable(FieldPath.of('addressType'), slice['addressType'], slice['addressType'] === old['addressType']);
        return found.errors;
      },
      generation: true,
    },
  ],
]);
