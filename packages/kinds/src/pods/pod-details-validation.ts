import {
  type FieldPath,
  type Fields,
  fieldsOf,
  isAbsent,
  itemsOf,
  maybeFields,
  names,
  numberOf,
  stringMapOf,
  textOf,
  textsOf,
} from '@capstan/machinery';
import type { Findings } from '../shared/findings.ts';

/** Validates rarely used parts of a pod: sysctls, the operating system, resize policies, sleep hooks, spread constraints and tokens. */
const systems = ['linux', 'windows'];

export function checkSystem(found: Findings, at: FieldPath, os: Fields | undefined): void {
  if (os === undefined) return;
  const name = textOf(os['name']);
  if (name === '') found.required(at.child('name'));
  else if (!systems.includes(name)) found.notSupported(at, name, systems);
}

const parameterPattern = '^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$';
const parameter = /^(?:[a-z0-9](?:[-_a-z0-9]*[a-z0-9])?[./])*[a-z0-9](?:[-_a-z0-9]*[a-z0-9])?$/;
const longestParameter = 253;

export function checkKernelParameters(
  found: Findings,
  at: FieldPath,
  { parameters, spec }: { parameters: readonly Fields[]; spec: Readonly<Fields> },
): void {
  const seen = new Set<string>();
  for (const [index, { name: given }] of parameters.entries()) {
    const path = at.index(index).child('name');
    const name = textOf(given);
    if (name === '') found.required(path);
    else if (name.length > longestParameter || !parameter.test(name))
      found.invalid(path, name, `must have at most ${longestParameter} characters and match regex ${parameterPattern}`);
    else if (seen.has(name)) found.duplicate(path, name);
    seen.add(name);
    const shared = sharedWith(name, spec);
    if (shared !== undefined) found.invalid(path, name, `may not be specified when '${shared}' is true`);
  }
}

const ofMessages = /^(?:kernel[./](?:shm|sem|msg)|fs[./]mqueue[./])/;

/** The setting by which the pod shares a sysctl with its host. */
function sharedWith(name: string, spec: Readonly<Fields>): string | undefined {
  if (spec['hostNetwork'] === true && /^net[./]/.test(name)) return 'hostNetwork';
  return spec['hostIPC'] === true && ofMessages.test(name) ? 'hostIPC' : undefined;
}

const resizedResources = ['cpu', 'memory'];
const resizePolicies = ['NotRequired', 'RestartContainer'];

/** `runsOnce`: containers are never restarted, so resizing them may not require a restart. */
export function checkResizePolicies(
  found: Findings,
  at: FieldPath,
  { policies, runsOnce }: { policies: readonly Fields[]; runsOnce: boolean },
): void {
  const seen = new Set<string>();
  for (const [index, { resourceName, restartPolicy }] of policies.entries()) {
    const resource = textOf(resourceName);
    if (seen.has(resource)) found.duplicate(at.index(index), resource);
    seen.add(resource);
    found.oneOf(at, resource, resizedResources);
    found.oneOf(at, restartPolicy, resizePolicies);
    if (runsOnce && restartPolicy !== 'NotRequired')
      found.invalid(at, textOf(restartPolicy), "must be 'NotRequired' when `restartPolicy` is 'Never'");
  }
}

/** A container may not sleep longer than the pod's grace period. */
export function checkSleep(
  found: Findings,
  at: FieldPath,
  { container, patience }: { container: Readonly<Fields>; patience: unknown },
): void {
  const lifecycle = fieldsOf(container['lifecycle']);
  for (const hook of ['postStart', 'preStop']) {
    const sleep = maybeFields(fieldsOf(lifecycle[hook])['sleep']);
    if (sleep === undefined || isAbsent(patience)) continue;
    const seconds = numberOf(sleep['seconds']);
    if (seconds >= 0 && seconds <= numberOf(patience)) continue;
    const rule = `must be non-negative and less than terminationGracePeriodSeconds (${numberOf(patience)})`;
    found.invalid(at.child('lifecycle', hook, 'sleep'), seconds, rule);
  }
}

const inclusions = ['Honor', 'Ignore'];

/** Validates which nodes and pods a spread constraint counts. */
export function checkSpreadScope(found: Findings, at: FieldPath, constraint: Readonly<Fields>): void {
  for (const field of ['nodeAffinityPolicy', 'nodeTaintsPolicy']) found.optionalOneOf(at.child(field), constraint[field], inclusions);
  const keys = textsOf(constraint['matchLabelKeys']);
  if (keys.length === 0) return;
  const path = at.child('matchLabelKeys');
  const selector = maybeFields(constraint['labelSelector']);
  if (selector === undefined) {
    found.forbidden(path, 'must not be specified when labelSelector is not set');
    return;
  }
  const taken = new Set(Object.keys(stringMapOf(selector['matchLabels'])));
  for (const { key } of itemsOf(selector['matchExpressions'])) taken.add(textOf(key));
  for (const [index, key] of keys.entries()) {
    found.invalid(path.index(index), key, names.qualifiedName(key));
    if (taken.has(key)) found.invalid(path.index(index), key, 'exists in both matchLabelKeys and labelSelector');
  }
}

/** A service account token requires a service account. */
export function checkTokenAccount(found: Findings, at: FieldPath, spec: Readonly<Fields>): void {
  if (textOf(spec['serviceAccountName']) !== '') return;
  for (const [index, volume] of itemsOf(spec['volumes']).entries()) {
    for (const [position, source] of itemsOf(fieldsOf(volume['projected'])['sources']).entries()) {
      if (isAbsent(source['serviceAccountToken'])) continue;
      const path = at.index(index).child('projected', 'sources').index(position).child('serviceAccountToken');
      found.forbidden(path, 'must not be specified when serviceAccountName is not set');
    }
  }
}
