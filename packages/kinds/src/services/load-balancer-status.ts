import { isIP } from 'node:net';
import { type FieldError, FieldPath, fieldsOf, isAbsent, itemsOf, type KubeObject, names, textOf } from '@capstan/machinery';
import { Findings } from '../shared/findings.ts';
import { addressProblems } from './addresses.ts';

const at = FieldPath.of('status', 'loadBalancer', 'ingress');

const pointsOf = (object: KubeObject) => itemsOf(fieldsOf(fieldsOf(object['status'])['loadBalancer'])['ingress']);

/** Validates the ingress points of a service's or ingress' load balancer. Addresses that were there before are not validated again. */
function checkPoints(found: Findings, object: KubeObject, old: KubeObject): void {
  const known = new Set(pointsOf(old).map(({ ip }) => textOf(ip)));
  const isService = object.kind === 'Service';
  for (const [index, { ip, ipMode, hostname }] of pointsOf(object).entries()) {
    const path = at.index(index);
    const [address, name] = [textOf(ip), textOf(hostname)];
    if (address !== '' && !known.has(address)) found.invalid(path.child('ip'), address, addressProblems(address));
    if (isService) checkMode(found, path.child('ipMode'), { address, ipMode });
    if (name === '') continue;
    found.invalid(path.child('hostname'), name, names.dns1123Subdomain(name));
    if (isIP(name) !== 0) found.invalid(path.child('hostname'), name, 'must be a DNS name, not an IP address');
  }
}

function checkMode(found: Findings, path: FieldPath, { address, ipMode }: { address: string; ipMode: unknown }): void {
  if (isAbsent(ipMode)) {
    if (address !== '') found.required(path, 'must be specified when `ip` is set');
  } else if (address === '') found.forbidden(path, 'may not be specified when `ip` is not set');
  else found.optionalOneOf(path, ipMode, ['Proxy', 'VIP']);
}

export function validateServiceStatus(service: KubeObject, old: KubeObject): FieldError[] {
  const found = new Findings();
  const isBalanced = fieldsOf(service['spec'])['type'] === 'LoadBalancer';
  if (!isBalanced && pointsOf(service).length > 0) found.forbidden(at, "may only be used when `spec.type` is 'LoadBalancer'");
  else checkPoints(found, service, old);
  return found.errors;
}

export function validateIngressStatus(ingress: KubeObject, old: KubeObject): FieldError[] {
  const found = new Findings();
  checkPoints(found, ingress, old);
  return found.errors;
}
