import {
  type FieldError,
  FieldPath,
  fieldError,
  fieldsOf,
  isAbsent,
  itemsOf,
  type KubeObject,
  maybeFields,
  names,
  sameJson,
  textOf,
  textsOf,
} from '@capstan/machinery';
import { addressProblems, parseRange, rangeProblems } from '../services/addresses.ts';
import { validateIngressStatus } from '../services/load-balancer-status.ts';
import { applyDefaults, type Defaults, made } from '../shared/defaulting.ts';
import { Findings } from '../shared/findings.ts';
import { goForm } from '../shared/go-form.ts';
import { keepAllButStatus, keepMetadata, separateStatus } from '../shared/status.ts';
import type { Strategy } from '../strategy.ts';
import { domainPathProblems } from './domain-path.ts';
import { checkTypedReference, validateIngress } from './ingress-validation.ts';
import { validateNetworkPolicy } from './networkpolicy-validation.ts';

const policyRule: Defaults = { each: { ports: { setOptional: { protocol: 'TCP' } } } };

function defaultNetworkPolicy(object: KubeObject): void {
  const spec = made(object, 'spec');
  applyDefaults(spec, { set: { podSelector: {} }, each: { ingress: policyRule, egress: policyRule } });
  if (textsOf(spec['policyTypes']).length > 0) return;
  spec['policyTypes'] = itemsOf(spec['egress']).length > 0 ? ['Ingress', 'Egress'] : ['Ingress'];
}

const longestController = 250;

function validateIngressClass(object: KubeObject): FieldError[] {
  const found = new Findings();
  const spec = fieldsOf(object['spec']);
  const at = FieldPath.of('spec');
  const controller = textOf(spec['controller']);
  if (Buffer.byteLength(controller) > longestController) found.add([fieldError.tooLong(at.child('controller'), longestController)]);
  if (controller === '') found.required(at.child('controller'));
  else found.invalid(at.child('controller'), controller, domainPathProblems(controller));
  const parameters = maybeFields(spec['parameters']);
  if (parameters === undefined) return found.errors;
  const path = at.child('parameters');
  checkTypedReference(found, path, parameters);
  const namespace = parameters['namespace'];
  found.oneOf(path.child('scope'), parameters['scope'], ['Cluster', 'Namespace']);
  if (parameters['scope'] === 'Namespace' && isAbsent(namespace)) {
    found.required(path.child('namespace'), "`parameters.scope` is set to 'Namespace'");
  }
  if (parameters['scope'] === 'Cluster' && !isAbsent(namespace)) {
    found.forbidden(path.child('namespace'), "`parameters.scope` is set to 'Cluster'");
  }
  return found.errors;
}

function validateIpAddress(object: KubeObject): FieldError[] {
  const found = new Findings();
  const parent = maybeFields(fieldsOf(object['spec'])['parentRef']);
  const at = FieldPath.of('spec', 'parentRef');
  if (parent === undefined) {
    found.required(at);
    return found.errors;
  }
  const group = textOf(parent['group']);
  if (group !== '') found.invalid(at.child('group'), group, names.dns1123Subdomain(group));
  for (const field of ['resource', 'name']) {
    const value = textOf(parent[field]);
    if (value === '') found.required(at.child(field));
    else found.invalid(at.child(field), value, names.pathSegment(value));
  }
  const namespace = textOf(parent['namespace']);
  if (namespace !== '') found.invalid(at.child('namespace'), namespace, names.pathSegment(namespace));
  return found.errors;
}

function validateServiceRange(object: KubeObject): FieldError[] {
  const found = new Findings();
  const at = FieldPath.of('spec', 'cidrs');
  const ranges = textsOf(fieldsOf(object['spec'])['cidrs']);
  if (ranges.length === 0) found.required(at, 'at least one CIDR required');
  else if (ranges.length > 2) found.invalid(at, object['spec'], 'may only hold up to 2 values');
  else {
    for (const [index, range] of ranges.entries()) found.invalid(at.index(index), range, rangeProblems(range));
    const [first, second] = ranges.map(parseRange);
    if (first !== undefined && first.width === second?.width) {
      found.invalid(at, ranges, 'may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64');
    }
  }
  return found.errors;
}

/** An update may only add a range of the other IP family. */
function validateServiceRangeUpdate(object: KubeObject, old: KubeObject): FieldError[] {
  const found = new Findings();
  const at = FieldPath.of('spec', 'cidrs');
  const ranges = textsOf(fieldsOf(object['spec'])['cidrs']);
  const before = textsOf(fieldsOf(old['spec'])['cidrs']);
  const isSecond = before.length === 1 && ranges.length === 2;
  if (ranges.length !== before.length && !isSecond) {
    found.immutable(at, ranges.length === 0 ? null : ranges, false);
    return found.errors;
  }
  for (const [index, range] of before.entries()) found.immutable(at.index(index), ranges[index], ranges[index] === range);
  return isSecond ? [...found.errors, ...validateServiceRange(object)] : found.errors;
}

/** Makes a field of the spec immutable. `zero` is its zero value in Go. */
function immutableField(field: string, zero: '' | null): NonNullable<Strategy['validateUpdate']> {
  return (object, old) => {
    const found = new Findings();
    const [value, before] = [fieldsOf(object['spec'])[field] ?? zero, fieldsOf(old['spec'])[field] ?? zero];
    const shown = maybeFields(value);
    found.immutable(FieldPath.of('spec', field), shown === undefined ? value : goForm('ParentReference', shown), sameJson(value, before));
    return found.errors;
  };
}

export const networkingStrategies = new Map<string, Strategy>([
  [
    'networking.k8s.io/ingresses',
    separateStatus({ validate: validateIngress, generation: true, status: { validateUpdate: validateIngressStatus } }, () => ({
      loadBalancer: {},
    })),
  ],
  [
    'networking.k8s.io/ingressclasses',
    {
      default: (object) => applyDefaults(made(object, 'spec'), { within: { parameters: { setOptional: { scope: 'Cluster' } } } }),
      validate: validateIngressClass,
      validateUpdate: immutableField('controller', ''),
      generation: true,
    },
  ],
  ['networking.k8s.io/networkpolicies', { default: defaultNetworkPolicy, validate: validateNetworkPolicy, generation: true }],
  [
    'networking.k8s.io/ipaddresses',
    {
      validateName: (name) => [...addressProblems(name)],
      validate: validateIpAddress,
      validateUpdate: immutableField('parentRef', null),
    },
  ],
  [
    'networking.k8s.io/servicecidrs',
    // Kubernetes accepts the status together with the rest, and both kinds of update own all fields.
    {
      validateCreate: validateServiceRange,
      validateUpdate: validateServiceRangeUpdate,
      prepareForCreate: () => {},
      prepareForUpdate: () => {},
      canonicalize: (object) => void made(object, 'status'),
      resetFields: { main: [], status: [] },
      status: {
        prepareForUpdate: (object, old) => {
          keepAllButStatus(object, old);
          keepMetadata(object, old);
        },
      },
    },
  ],
]);
