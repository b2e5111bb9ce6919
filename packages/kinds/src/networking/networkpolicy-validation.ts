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
  validateLabelSelector,
} from '@capstan/machinery';
import { isStrictlyWithin, parseRange, rangeProblems } from '../services/addresses.ts';
import { Findings } from '../shared/findings.ts';

function checkPort(found: Findings, at: FieldPath, rule: Readonly<Fields>): void {
  const { port, endPort } = rule;
  found.optionalOneOf(at.child('protocol'), rule['protocol'], ['TCP', 'UDP', 'SCTP']);
  if (typeof port === 'number') {
    found.invalid(at.child('port'), port, names.portNumber(port));
    if (isAbsent(endPort)) return;
    if (numberOf(endPort) < port) found.invalid(at.child('endPort'), port, 'must be greater than or equal to `port`');
    found.invalid(at.child('endPort'), endPort, names.portNumber(numberOf(endPort)));
    return;
  }
  if (!isAbsent(endPort)) {
    const reason = typeof port === 'string' ? 'non-numeric' : 'not specified';
    found.invalid(at.child('endPort'), endPort, `may not be specified when \`port\` is ${reason}`);
  }
  if (typeof port === 'string') found.invalid(at.child('port'), port, names.portName(port));
}

function checkBlock(found: Findings, at: FieldPath, block: Readonly<Fields>): void {
  const cidr = textOf(block['cidr']);
  if (cidr === '') {
    found.required(at.child('cidr'));
    return;
  }
  found.invalid(at.child('cidr'), cidr, rangeProblems(cidr));
  const outer = parseRange(cidr);
  if (outer === undefined) return;
  for (const [index, except] of textsOf(block['except']).entries()) {
    const path = at.child('except').index(index);
    const inner = parseRange(except);
    if (inner === undefined) found.invalid(path, except, rangeProblems(except));
    else if (!isStrictlyWithin(inner, outer)) found.invalid(path, except, 'must be a strict subset of `cidr`');
  }
}

function checkPeer(found: Findings, at: FieldPath, peer: Readonly<Fields>): void {
  const selectors = ['podSelector', 'namespaceSelector'].filter((field) => maybeFields(peer[field]) !== undefined);
  for (const field of selectors) found.add(validateLabelSelector(fieldsOf(peer[field]), at.child(field)));
  const block = maybeFields(peer['ipBlock']);
  if (block !== undefined) checkBlock(found, at.child('ipBlock'), block);
  if (selectors.length === 0 && block === undefined) found.required(at, 'must specify a peer');
  else if (selectors.length > 0 && block !== undefined) found.forbidden(at, 'may not specify both ipBlock and another peer');
}

export function validateNetworkPolicy(policy: KubeObject): FieldError[] {
  const found = new Findings();
  const spec = fieldsOf(policy['spec']);
  const at = FieldPath.of('spec');
  found.add(validateLabelSelector(fieldsOf(spec['podSelector']), at.child('podSelector')));
  for (const [direction, peers] of [
    ['ingress', 'from'],
    ['egress', 'to'],
  ] as const) {
    for (const [index, rule] of itemsOf(spec[direction]).entries()) {
      const path = at.child(direction).index(index);
      for (const [position, port] of itemsOf(rule['ports']).entries()) checkPort(found, path.child('ports').index(position), port);
      for (const [position, peer] of itemsOf(rule[peers]).entries()) checkPeer(found, path.child(peers).index(position), peer);
    }
  }
  const types = textsOf(spec['policyTypes']);
  if (types.length > 2) found.invalid(at.child('policyTypes'), types, 'may not specify more than two policyTypes');
  else for (const [index, type] of types.entries()) found.optionalOneOf(at.child('policyTypes').index(index), type, ['Ingress', 'Egress']);
  return found.errors;
}
