import { isIP } from 'node:net';
import {
  type FieldError,
  FieldPath,
  type Fields,
  fieldsOf,
  isAbsent,
  itemsOf,
  type KubeObject,
  maybeFields,
  names,
  numberOf,
  textOf,
  textsOf,
} from '@capstan/machinery';
import { Findings } from '../shared/findings.ts';

const forbiddenSequences = ['//', '/./', '/../', '%2f', '%2F'];
const forbiddenEndings = ['/..', '/.'];
const classAnnotation = 'kubernetes.io/ingress.class';

function hostProblems(host: string): string[] {
  return host.includes('*') ? names.wildcardDns1123Subdomain(host) : names.dns1123Subdomain(host);
}

/** Validates a reference to an object of any kind in the same namespace. */
export function checkTypedReference(found: Findings, at: FieldPath, reference: Readonly<Fields>): void {
  const group = textOf(reference['apiGroup']);
  if (!isAbsent(reference['apiGroup'])) found.invalid(at.child('apiGroup'), group, names.dns1123Subdomain(group));
  for (const field of ['kind', 'name']) {
    const value = textOf(reference[field]);
    if (value === '') found.required(at.child(field));
    else found.invalid(at.child(field), value, names.pathSegment(value));
  }
}

function checkBackend(found: Findings, at: FieldPath, backend: Readonly<Fields>): void {
  const resource = maybeFields(backend['resource']);
  const service = maybeFields(backend['service']);
  if (resource !== undefined && service !== undefined) found.invalid(at, '', 'cannot set both resource and service backends');
  else if (resource !== undefined) checkTypedReference(found, at.child('resource'), resource);
  else if (service !== undefined) checkServiceBackend(found, at, service);
  else found.invalid(at, '', 'resource or service backend is required');
}

function checkServiceBackend(found: Findings, at: FieldPath, service: Readonly<Fields>): void {
  const name = textOf(service['name']);
  if (name === '') found.required(at.child('service', 'name'));
  else found.invalid(at.child('service', 'name'), name, names.dns1035Label(name));
  const port = fieldsOf(service['port']);
  const portName = textOf(port['name']);
  const number = numberOf(port['number']);
  if (portName !== '' && number !== 0) found.invalid(at, '', 'cannot set both port name & port number');
  else if (portName !== '') found.invalid(at.child('service', 'port', 'name'), portName, names.portName(portName));
  else if (number !== 0) found.invalid(at.child('service', 'port', 'number'), number, names.portNumber(number));
  else found.required(at, 'port name or number is required');
}

function checkPath(found: Findings, at: FieldPath, rule: Readonly<Fields>): void {
  const type = rule['pathType'];
  const path = textOf(rule['path']);
  if (isAbsent(type)) {
    found.required(at.child('pathType'), 'pathType must be specified');
    return;
  }
  if (type === 'Exact' || type === 'Prefix') {
    if (!path.startsWith('/')) found.invalid(at.child('path'), path, 'must be an absolute path');
    for (const text of forbiddenSequences) if (path.includes(text)) found.invalid(at.child('path'), path, `must not contain '${text}'`);
    for (const text of forbiddenEndings) if (path.endsWith(text)) found.invalid(at.child('path'), path, `cannot end with '${text}'`);
  } else if (type === 'ImplementationSpecific') {
    if (path !== '' && !path.startsWith('/')) found.invalid(at.child('path'), path, 'must be an absolute path');
  } else found.notSupported(at.child('pathType'), type, ['Exact', 'ImplementationSpecific', 'Prefix']);
  checkBackend(found, at.child('backend'), fieldsOf(rule['backend']));
}

function checkRule(found: Findings, at: FieldPath, rule: Readonly<Fields>): void {
  const host = textOf(rule['host']);
  if (host !== '') {
    if (isIP(host) !== 0) found.invalid(at.child('host'), host, 'must be a DNS name, not an IP address');
    found.invalid(at.child('host'), host, hostProblems(host));
  }
  const http = maybeFields(rule['http']);
  if (http === undefined) return;
  const paths = itemsOf(http['paths']);
  if (paths.length === 0) found.required(at.child('http', 'paths'));
  for (const [index, path] of paths.entries()) checkPath(found, at.child('http', 'paths').index(index), path);
}

export function validateIngress(ingress: KubeObject): FieldError[] {
  const found = new Findings();
  const spec = fieldsOf(ingress['spec']);
  const at = FieldPath.of('spec');
  const rules = itemsOf(spec['rules']);
  const backend = maybeFields(spec['defaultBackend']);
  if (rules.length === 0 && backend === undefined) found.invalid(at, null, 'either `defaultBackend` or `rules` must be specified');
  if (backend !== undefined) checkBackend(found, at.child('defaultBackend'), backend);
  for (const [index, rule] of rules.entries()) checkRule(found, at.child('rules').index(index), rule);
  for (const [index, tls] of itemsOf(spec['tls']).entries()) {
    const path = at.child('tls').index(index);
    for (const [position, host] of textsOf(tls['hosts']).entries())
      found.invalid(path.child('hosts').index(position), host, hostProblems(host));
    const secret = textOf(tls['secretName']);
    if (secret !== '') found.invalid(path.child('secretName'), secret, names.dns1123Subdomain(secret));
  }
  const ingressClass = textOf(spec['ingressClassName']);
  if (isAbsent(spec['ingressClassName'])) return found.errors;
  found.invalid(at.child('ingressClassName'), ingressClass, names.dns1123Subdomain(ingressClass));
  const annotation = ingress.metadata.annotations?.[classAnnotation];
  if (annotation !== undefined && annotation !== ingressClass) {
    found.invalid(FieldPath.of('annotations', classAnnotation), annotation, 'must match `ingressClassName` when both are specified');
  }
  return found.errors;
}
