import {
  type FieldError,
  FieldPath,
  fieldsOf,
  isAbsent,
  itemsOf,
  type KubeObject,
  maybeFields,
  sameJson,
  textOf,
  textsOf,
} from '@capstan/machinery';
import { checkTaints } from '../pods/scheduling.ts';
import { rangeProblems } from '../services/addresses.ts';
import { made } from '../shared/defaulting.ts';
import { Findings } from '../shared/findings.ts';
import { checkAmounts } from '../shared/resources.ts';
import { keepAllButStatus } from '../shared/status.ts';
import type { Strategy } from '../strategy.ts';

function defaultNode(node: KubeObject): void {
  const spec = made(node, 'spec');
  // The list must begin with the single value, which wins if they differ.
  const [single, first] = [textOf(spec['podCIDR']), textsOf(spec['podCIDRs'])[0]];
  if (single !== '' && single !== first) spec['podCIDRs'] = [single];
  else if (single === '' && first !== undefined) spec['podCIDR'] = first;
  const status = made(node, 'status');
  const capacity = maybeFields(status['capacity']);
  if (isAbsent(status['allocatable']) && capacity !== undefined) status['allocatable'] = { ...capacity };
}

function checkResources(found: Findings, node: KubeObject): void {
  const status = fieldsOf(node['status']);
  for (const field of ['capacity', 'allocatable']) checkAmounts(found, FieldPath.of('status', field), fieldsOf(status[field]));
}

/** Validates resources and rejects duplicate addresses, both in status updates and in updates of the node. */
function checkStatus(found: Findings, node: KubeObject): void {
  checkResources(found, node);
  const seen = new Set<string>();
  for (const [index, { type, address }] of itemsOf(fieldsOf(node['status'])['addresses']).entries()) {
    const shown = { Type: textOf(type), Address: textOf(address) };
    const key = JSON.stringify(shown);
    if (seen.has(key)) found.duplicate(FieldPath.of('status', 'addresses').index(index), shown);
    seen.add(key);
  }
}

function validateNode(node: KubeObject): FieldError[] {
  const found = new Findings();
  const spec = fieldsOf(node['spec']);
  checkTaints(found, FieldPath.of('metadata', 'taints'), itemsOf(spec['taints']));
  checkResources(found, node);
  const ranges = textsOf(spec['podCIDRs']);
  const at = FieldPath.of('spec', 'podCIDRs');
  for (const [index, range] of ranges.entries()) found.invalid(at.index(index), range, rangeProblems(range));
  if (ranges.length > 1) {
    const families = new Set(ranges.map((range) => range.includes(':')));
    if (families.size < ranges.length) found.invalid(at, ranges, 'may specify no more than one CIDR for each IP family');
  }
  return found.errors;
}

function validateNodeUpdate(node: KubeObject, old: KubeObject): FieldError[] {
  const found = new Findings();
  const [spec, before] = [fieldsOf(node['spec']), fieldsOf(old['spec'])];
  checkStatus(found, node);
  if (textsOf(before['podCIDRs']).length > 0 && !sameJson(spec['podCIDRs'], before['podCIDRs'])) {
    found.forbidden(FieldPath.of('spec', 'podCIDRs'), 'node updates may not change podCIDR except from "" to valid');
  }
  if (textOf(before['providerID']) !== '' && spec['providerID'] !== before['providerID']) {
    found.forbidden(FieldPath.of('spec', 'providerID'), 'node updates may not change providerID except from "" to valid');
  }
  checkTaints(found, FieldPath.of('metadata', 'taints'), itemsOf(spec['taints']));
  if (textOf(spec['externalID']) !== textOf(before['externalID']))
    found.forbidden(FieldPath.of('spec', 'externalID'), 'may not be updated');
  return found.errors;
}

/** Nodes register with their status, so it is kept on create. */
const nodeStrategy: Strategy = {
  default: defaultNode,
  validate: validateNode,
  validateUpdate: validateNodeUpdate,
  prepareForCreate: () => {},
  prepareForUpdate: (node, old) => {
    node['status'] = old['status'];
  },
  status: {
    prepareForUpdate: keepAllButStatus,
    validate: (node) => {
      const found = new Findings();
      checkStatus(found, node);
      return found.errors;
    },
  },
  selectableLabels: ['spec.unschedulable'],
  selectableFields: (node) => ({ 'spec.unschedulable': String(fieldsOf(node['spec'])['unschedulable'] === true) }),
};

export const nodeStrategies = new Map<string, Strategy>([['/nodes', nodeStrategy]]);
