import {
  type FieldPath,
  type Fields,
  fieldsOf,
  isAbsent,
  itemsOf,
  maybeFields,
  names,
  numberOf,
  textOf,
  textsOf,
} from '@capstan/machinery';
import type { Findings } from '../shared/findings.ts';
import { checkRequirements } from '../shared/resources.ts';
import { checkEnvironment, checkEnvironmentSources } from './env-validation.ts';
import { checkDevices, checkMounts, type Volumes } from './mount-validation.ts';
import { checkUsedClaims, claimNames } from './pod-claims-validation.ts';
import { checkResizePolicies, checkSleep } from './pod-details-validation.ts';
import { checkAppArmor, checkSeccomp } from './pod-security-validation.ts';
import { checkLife, probeFields } from './probe-validation.ts';

const highestId = 2 ** 31 - 1;

/** Validates a user or group ID. */
export function checkId(found: Findings, at: FieldPath, id: unknown): void {
  if ((typeof id === 'number' || typeof id === 'bigint') && (id < 0 || id > highestId))
    found.invalid(at, id, names.rangeMessage(0, highestId));
}

function checkPorts(found: Findings, at: FieldPath, ports: readonly Fields[]): void {
  const seen = new Set<string>();
  for (const [index, port] of ports.entries()) {
    const path = at.index(index);
    const name = textOf(port['name']);
    if (name !== '') {
      const problems = names.portName(name);
      found.invalid(path.child('name'), name, problems);
      if (problems.length === 0 && seen.has(name)) found.duplicate(path.child('name'), name);
      seen.add(name);
    }
    const number = numberOf(port['containerPort']);
    if (number === 0) found.required(path.child('containerPort'));
    else found.invalid(path.child('containerPort'), number, names.portNumber(number));
    const host = numberOf(port['hostPort']);
    if (host !== 0) found.invalid(path.child('hostPort'), host, names.portNumber(host));
    found.oneOf(path.child('protocol'), port['protocol'], ['SCTP', 'TCP', 'UDP']);
  }
}

function checkSecurity(found: Findings, at: FieldPath, security: Fields): void {
  checkId(found, at.child('runAsUser'), security['runAsUser']);
  checkId(found, at.child('runAsGroup'), security['runAsGroup']);
  found.optionalOneOf(at.child('procMount'), security['procMount'], ['Default', 'Unmasked']);
  checkSeccomp(found, at.child('seccompProfile'), maybeFields(security['seccompProfile']));
  const isConfined = security['allowPrivilegeEscalation'] === false;
  if (isConfined && security['privileged'] === true) {
    found.invalid(at, security, 'cannot set `allowPrivilegeEscalation` to false and `privileged` to true');
  }
  if (isConfined && textsOf(fieldsOf(security['capabilities'])['add']).includes('CAP_SYS_ADMIN')) {
    found.invalid(at, security, 'cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN');
  }
  checkAppArmor(found, at.child('appArmorProfile'), maybeFields(security['appArmorProfile']));
}

function checkCommon(
  found: Findings,
  at: FieldPath,
  { container, volumes, claims, runsOnce }: { container: Fields; volumes: Volumes; claims: ReadonlySet<string>; runsOnce: boolean },
): void {
  const name = textOf(container['name']);
  if (name === '') found.required(at.child('name'));
  else found.invalid(at.child('name'), name, names.dns1123Label(name));
  if (textOf(container['image']) === '') found.required(at.child('image'));
  found.oneOf(at.child('terminationMessagePolicy'), container['terminationMessagePolicy'], ['File', 'FallbackToLogsOnError']);
  checkPorts(found, at.child('ports'), itemsOf(container['ports']));
  checkEnvironment(found, at.child('env'), itemsOf(container['env']));
  checkEnvironmentSources(found, at.child('envFrom'), itemsOf(container['envFrom']));
  checkMounts(found, at, { container, volumes });
  checkDevices(found, at, { container, volumes });
  found.oneOf(at.child('imagePullPolicy'), container['imagePullPolicy'], ['Always', 'IfNotPresent', 'Never']);
  const resources = fieldsOf(container['resources']);
  checkRequirements(found, at.child('resources'), resources);
  checkUsedClaims(found, at.child('resources', 'claims'), { used: itemsOf(resources['claims']), known: claims });
  checkResizePolicies(found, at.child('resizePolicy'), { policies: itemsOf(container['resizePolicy']), runsOnce });
  const security = maybeFields(container['securityContext']);
  if (security !== undefined) checkSecurity(found, at.child('securityContext'), security);
}

/** Two containers cannot use the same host port. */
function checkHostPorts(found: Findings, at: FieldPath, containers: readonly Fields[]): void {
  const seen = new Set<string>();
  for (const [index, container] of containers.entries()) {
    for (const [position, port] of itemsOf(container['ports']).entries()) {
      if (numberOf(port['hostPort']) === 0) continue;
      const key = `${textOf(port['protocol'])}/${textOf(port['hostIP'])}/${numberOf(port['hostPort'])}`;
      if (seen.has(key)) found.duplicate(at.index(index).child('ports').index(position).child('hostPort'), key);
      seen.add(key);
    }
  }
}

export function checkContainers(found: Findings, at: FieldPath, { spec, volumes }: { spec: Readonly<Fields>; volumes: Volumes }): void {
  const containers = itemsOf(spec['containers']);
  const claims = claimNames(spec['resourceClaims']);
  const runsOnce = spec['restartPolicy'] === 'Never';
  const path = at.child('containers');
  if (containers.length === 0) found.required(path);
  const seen = new Set<string>();
  for (const [index, container] of containers.entries()) {
    const name = textOf(container['name']);
    checkCommon(found, path.index(index), { container, volumes, claims, runsOnce });
    if (seen.has(name)) found.duplicate(path.index(index).child('name'), name);
    seen.add(name);
    checkLife(found, path.index(index), container);
    checkSleep(found, path.index(index), { container, patience: spec['terminationGracePeriodSeconds'] });
  }
  checkHostPorts(found, path, containers);
  checkInitContainers(found, at.child('initContainers'), { containers: itemsOf(spec['initContainers']), volumes, claims, runsOnce, seen });
  checkEphemeralContainers(found, at.child('ephemeralContainers'), {
    containers: itemsOf(spec['ephemeralContainers']),
    volumes,
    claims,
    runsOnce,
    seen,
  });
}

interface Others {
  readonly containers: readonly Fields[];
  readonly volumes: Volumes;
  readonly claims: ReadonlySet<string>;
  /** True if the pod never restarts its containers. */
  readonly runsOnce: boolean;
  /** Names of preceding containers. */
  readonly seen: Set<string>;
}

function checkInitContainers(found: Findings, at: FieldPath, { containers, volumes, claims, runsOnce, seen }: Others): void {
  for (const [index, container] of containers.entries()) {
    const path = at.index(index);
    const name = textOf(container['name']);
    checkCommon(found, path, { container, volumes, claims, runsOnce });
    if (seen.has(name)) found.duplicate(path.child('name'), name);
    seen.add(name);
    if (container['restartPolicy'] === 'Always') checkLife(found, path, container);
    else {
      for (const field of ['lifecycle', ...probeFields]) {
        if (!isAbsent(container[field]))
          found.forbidden(path.child(field), 'may not be set for init containers without restartPolicy=Always');
      }
    }
  }
}

const notForEphemeral = [
  'ports',
  'resources',
  'resizePolicy',
  'restartPolicy',
  'livenessProbe',
  'readinessProbe',
  'startupProbe',
  'lifecycle',
];
const forEphemeral = 'cannot be set for an Ephemeral Container';

function checkEphemeralContainers(found: Findings, at: FieldPath, { containers, volumes, claims, runsOnce, seen }: Others): void {
  const targets = new Set(seen);
  for (const [index, container] of containers.entries()) {
    const path = at.index(index);
    const name = textOf(container['name']);
    checkCommon(found, path, { container, volumes, claims, runsOnce });
    if (seen.has(name)) found.duplicate(path.child('name'), name);
    seen.add(name);
    const target = textOf(container['targetContainerName']);
    if (target !== '' && !targets.has(target)) found.notFound(path.child('targetContainerName'), target);
    for (const field of notForEphemeral) {
      const value = container[field];
      const isSet = field === 'resources' ? Object.keys(fieldsOf(value)).length > 0 : !isAbsent(value);
      if (isSet) found.forbidden(path.child(field), forEphemeral);
    }
    for (const [position, mount] of itemsOf(container['volumeMounts']).entries()) {
      for (const field of ['subPath', 'subPathExpr'])
        if (textOf(mount[field]) !== '') found.forbidden(path.child('volumeMounts').index(position).child(field), forEphemeral);
    }
  }
}
