import {
  FieldPath,
  type Fields,
  fieldError,
  fieldsOf,
  isAbsent,
  itemsOf,
  type KubeObject,
  maybeFields,
  names,
  numberOf,
  sameJson,
  textOf,
} from '@capstan/machinery';
import { isWhole } from '../shared/resources.ts';
import type { Strategy } from '../strategy.ts';
import { overlappingPaths } from '../volumes/volume-path-warnings.ts';
import { oldAnnotationsOf, oldSeccompOf } from './annotation-warnings.ts';

type Warn = (message: string) => void;
type WarnAt = (at: FieldPath, message: string) => void;

const oldNodeLabels = new Map([
  ['beta.kubernetes.io/arch', 'deprecated since v1.14; use "kubernetes.io/arch" instead'],
  ['beta.kubernetes.io/os', 'deprecated since v1.14; use "kubernetes.io/os" instead'],
  ['failure-domain.beta.kubernetes.io/region', 'deprecated since v1.17; use "topology.kubernetes.io/region" instead'],
  ['failure-domain.beta.kubernetes.io/zone', 'deprecated since v1.17; use "topology.kubernetes.io/zone" instead'],
  ['beta.kubernetes.io/instance-type', 'deprecated since v1.17; use "node.kubernetes.io/instance-type" instead'],
  ['node-role.kubernetes.io/master', 'use "node-role.kubernetes.io/control-plane" instead'],
]);

const oldVolumes = new Map([
  ['photonPersistentDisk', 'deprecated in v1.11, non-functional in v1.16+'],
  ['gitRepo', 'deprecated in v1.11, and disabled by default in v1.33+'],
  ['scaleIO', 'deprecated in v1.16, non-functional in v1.22+'],
  ['flocker', 'deprecated in v1.22, non-functional in v1.25+'],
  ['storageos', 'deprecated in v1.22, non-functional in v1.25+'],
  ['quobyte', 'deprecated in v1.22, non-functional in v1.25+'],
  ['glusterfs', 'deprecated in v1.25, non-functional in v1.26+'],
  ['cephfs', 'deprecated in v1.28, non-functional in v1.31+'],
  ['rbd', 'deprecated in v1.28, non-functional in v1.31+'],
]);

const matchesNone = 'a null labelSelector results in matching no pod';

function warnScheduling(warn: WarnAt, at: FieldPath, spec: Readonly<Fields>): void {
  for (const label of Object.keys(fieldsOf(spec['nodeSelector']))) {
    const message = oldNodeLabels.get(label);
    if (message !== undefined) warn(at.child('nodeSelector').key(label), message);
  }
  for (const [index, constraint] of itemsOf(spec['topologySpreadConstraints']).entries()) {
    const path = at.child('topologySpreadConstraints').index(index);
    const key = textOf(constraint['topologyKey']);
    const message = oldNodeLabels.get(key);
    if (message !== undefined) warn(path.child('topologyKey'), `${key} is ${message}`);
    if (isAbsent(constraint['labelSelector'])) warn(path.child('labelSelector'), matchesNone);
  }
}

function warnVolumes(warn: WarnAt, at: FieldPath, volumes: readonly Fields[]): void {
  for (const [index, volume] of volumes.entries()) {
    for (const [source, message] of oldVolumes) {
      // The field is `storageos`, but Kubernetes prints `storageOS` in the path.
      if (!isAbsent(volume[source])) warn(at.index(index).child(source === 'storageos' ? 'storageOS' : source), message);
    }
  }
}

function warnRepeated(warn: WarnAt, at: FieldPath, { items, field }: { items: readonly Fields[]; field: string }): void {
  const seen = new Set<string>();
  for (const [index, item] of items.entries()) {
    const value = textOf(item[field]);
    if (seen.has(value)) warn(at.index(index).child(field), `duplicate ${field} ${fieldError.quote(value)}`);
    seen.add(value);
  }
}

/** Yields every container with its path. */
function* containersOf(spec: Readonly<Fields>, at: FieldPath): Generator<readonly [container: Fields, path: FieldPath]> {
  for (const field of ['initContainers', 'containers']) {
    for (const [index, container] of itemsOf(spec[field]).entries()) yield [container, at.child(field).index(index)];
  }
}

function warnContainer(warn: WarnAt, at: FieldPath, container: Readonly<Fields>): void {
  const resources = fieldsOf(container['resources']);
  for (const resource of ['memory', 'ephemeral-storage']) {
    for (const kind of ['limits', 'requests']) {
      const amount = fieldsOf(resources[kind])[resource];
      if (!isAbsent(amount) && !isWhole(amount)) {
        warn(
          at.child('resources', kind).key(resource),
          `fractional byte value ${fieldError.quote(textOf(amount))} is invalid, must be an integer`,
        );
      }
    }
  }
  const seen = new Set<string>();
  for (const [index, variable] of itemsOf(container['env']).entries()) {
    const name = textOf(variable['name']);
    const value = textOf(variable['value']);
    const reference = `$(${name})`;
    // A value that extends the previous one, such as a longer PATH, is intended.
    const isExtension = isAbsent(variable['valueFrom']) && value !== reference && value.includes(reference);
    if (seen.has(name) && !isExtension) {
      warn(at.child('env').index(index), `hides previous definition of ${fieldError.quote(name)}, which may be dropped when using apply`);
    }
    seen.add(name);
  }
}

function warnPorts(warn: WarnAt, at: FieldPath, spec: Readonly<Fields>): void {
  const byNumber = new Map<string, { port: Fields; path: FieldPath }[]>();
  const byName = new Map<string, FieldPath>();
  const named: { path: FieldPath; message: string }[] = [];
  for (const [container, containerPath] of containersOf(spec, at)) {
    for (const [index, port] of itemsOf(container['ports']).entries()) {
      const path = containerPath.child('ports').index(index);
      const key = `${numberOf(port['containerPort'])}/${textOf(port['protocol'])}`;
      const others = byNumber.get(key) ?? [];
      for (const other of others) {
        const sameHost = textOf(port['hostIP']) === textOf(other.port['hostIP']);
        if (sameHost && numberOf(port['hostPort']) === numberOf(other.port['hostPort'])) {
          warn(path, `duplicate port definition with ${other.path.toString()}`);
        } else if (numberOf(port['hostPort']) === 0 || numberOf(other.port['hostPort']) === 0) {
          warn(path, `overlapping port definition with ${other.path.toString()}`);
        }
      }
      byNumber.set(key, [...others, { port, path }]);
      const name = textOf(port['name']);
      const first = name === '' ? undefined : byName.get(name);
      if (first !== undefined) {
        named.push({
          path,
          message: `duplicate port name ${fieldError.quote(name)} with ${first.toString()}, services and probes that select ports by name will use ${first.toString()}`,
        });
      } else if (name !== '') byName.set(name, path);
    }
  }
  for (const { path, message } of named) warn(path, message);
}

/** Warns about likely mistakes in a valid pod or pod template. `parents` is the path to the template. */
export function warnPod(tell: Warn, template: Readonly<Fields>, parents: readonly string[] = []): void {
  const warn: WarnAt = (path, message) => tell(`${path.toString()}: ${message}`);
  const [first, ...rest] = parents;
  const within = (...names: [string, ...string[]]): FieldPath =>
    first === undefined ? FieldPath.of(...names) : FieldPath.of(first, ...rest, ...names);
  const at = within('spec');
  const annotations = within('metadata', 'annotations');
  const spec = fieldsOf(template['spec']);
  const volumes = itemsOf(spec['volumes']);
  warnScheduling(warn, at, spec);
  oldAnnotationsOf(template, annotations).forEach(tell);
  warnVolumes(warn, at.child('volumes'), volumes);
  overlappingPaths(volumes).forEach(tell);
  warnRepeated(warn, at.child('hostAliases'), { items: itemsOf(spec['hostAliases']), field: 'ip' });
  const secrets = itemsOf(spec['imagePullSecrets']);
  warnRepeated(warn, at.child('imagePullSecrets'), { items: secrets, field: 'name' });
  for (const [index, secret] of secrets.entries()) {
    if (textOf(secret['name']) === '') warn(at.child('imagePullSecrets').index(index).child('name'), `invalid empty name ""`);
  }
  oldSeccompOf(template, annotations).forEach(tell);
  for (const [container, path] of containersOf(spec, at)) warnContainer(warn, path, container);
  warnPorts(warn, at, spec);
  if (numberOf(spec['terminationGracePeriodSeconds']) < 0) {
    warn(at.child('terminationGracePeriodSeconds'), `must be >= 0; negative values are invalid and will be treated as 1`);
  }
  warnAffinity(warn, at.child('affinity'), fieldsOf(spec['affinity']));
}

function warnAffinity(warn: WarnAt, at: FieldPath, affinity: Readonly<Fields>): void {
  for (const kind of ['podAffinity', 'podAntiAffinity']) {
    const rules = fieldsOf(affinity[kind]);
    const [required, preferred] = ['requiredDuringSchedulingIgnoredDuringExecution', 'preferredDuringSchedulingIgnoredDuringExecution'];
    for (const [index, term] of itemsOf(rules[required!]).entries()) {
      if (isAbsent(term['labelSelector'])) warn(at.child(kind, required!).index(index).child('labelSelector'), matchesNone);
    }
    for (const [index, weighted] of itemsOf(rules[preferred!]).entries()) {
      const isEmpty = isAbsent(fieldsOf(weighted['podAffinityTerm'])['labelSelector']);
      if (isEmpty) warn(at.child(kind, preferred!).index(index).child('podAffinityTerm', 'labelSelector'), matchesNone);
    }
  }
}

export function warnName(warn: Warn, object: KubeObject, use: string): void {
  const problems = names.dns1123Label(object.metadata.name ?? '');
  if (problems.length === 0) return;
  warn(
    `metadata.name: this is used in ${use}, which can result in surprising behavior; a DNS label is recommended: [${problems.join(' ')}]`,
  );
}

/**
 * Warns about likely mistakes in the pod template at a path, on create and when the template changes. On create it also warns about names
 * that do not suit pods.
 */
export function withTemplateWarnings(strategy: Strategy, path: readonly [string, ...string[]] = ['spec', 'template']): Strategy {
  const templateOf = (object: KubeObject): Fields | undefined => {
    let found: unknown = object;
    for (const field of path) found = fieldsOf(found)[field];
    return maybeFields(found);
  };
  return {
    ...strategy,
    prepareForCreate: (object, context) => {
      strategy.prepareForCreate?.(object, context);
      // Kubernetes does not warn about the names of DaemonSets and PodTemplates.
      if (path.length > 1 && object.kind !== 'DaemonSet') warnName(context.warn, object, 'Pod names and hostnames');
      warnPod(context.warn, fieldsOf(templateOf(object)), path);
    },
    prepareForUpdate: (object, old, context) => {
      strategy.prepareForUpdate?.(object, old, context);
      const template = templateOf(object);
      if (!sameJson(template, templateOf(old))) warnPod(context.warn, fieldsOf(template), path);
    },
  };
}

export function warnService(warn: Warn, service: KubeObject): void {
  const spec = fieldsOf(service['spec']);
  const external = itemsOf(spec['externalIPs']).length > 0;
  if (spec['clusterIP'] === 'None') {
    if (textOf(spec['loadBalancerIP']) !== '') warn('spec.loadBalancerIP is ignored for headless services');
    if (external) warn('spec.externalIPs is ignored for headless services');
    if (textOf(spec['sessionAffinity']) !== '') warn('spec.SessionAffinity is ignored for headless services');
  }
  if (spec['type'] === 'ExternalName') {
    if (external) warn('spec.externalIPs is ignored when spec.type is "ExternalName"');
  } else if (textOf(spec['externalName']) !== '') warn('spec.externalName is ignored when spec.type is not "ExternalName"');
}
