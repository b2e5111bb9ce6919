import {
  type FieldError,
  FieldPath,
  type Fields,
  fieldsOf,
  isAbsent,
  itemsOf,
  type KubeObject,
  maybeFields,
  sameJson,
} from '@capstan/machinery';
import { Findings } from '../shared/findings.ts';
import { validatePod } from './pod-validation.ts';
import { qualityOf } from './quality.ts';

const at = FieldPath.of('spec');
const lists = ['containers', 'initContainers'] as const;
const resizable = ['cpu', 'memory'];

/**
 * The part of the spec that a resize may change: resources and resize policies. Renamed or reordered containers are kept, so that
 * validation reports them; undefined if containers were added or removed.
 */
export function resizedPart(spec: Readonly<Fields>, before: Readonly<Fields>): Fields | undefined {
  if (lists.some((list) => itemsOf(spec[list]).length !== itemsOf(before[list]).length)) return undefined;
  const part: Fields = {};
  for (const list of lists) if (!isAbsent(before[list])) part[list] = resized(itemsOf(spec[list]), itemsOf(before[list]));
  return part;
}

function resized(containers: readonly Fields[], before: readonly Fields[]): readonly Fields[] {
  if (containers.some(({ name }, index) => name !== before[index]!['name'])) return containers;
  return before.map((old, index) => {
    const { resources: _, resizePolicy: _p, ...rest } = old;
    const { resources, resizePolicy } = containers[index]!;
    return { ...rest, resources: resources ?? {}, ...(resizePolicy !== undefined && { resizePolicy }) };
  });
}

export function validateResize(pod: KubeObject, old: KubeObject): FieldError[] {
  const found = new Findings();
  const why = unresizable(pod, old);
  if (why !== undefined) {
    found.forbidden(FieldPath.of().key(''), why);
    return found.errors;
  }
  found.add(validatePod(pod));
  const [spec, before] = [fieldsOf(pod['spec']), fieldsOf(old['spec'])];
  const quality = qualityOf(before);
  if (qualityOf(spec) !== quality) found.invalid(at, quality, 'Pod QOS Class may not change as a result of resizing');
  if (!isSupported(old)) found.forbidden(at, 'Pod running on node without support for resize');
  if (!checkOrder(found, spec, before)) return found.errors;
  for (const list of ['initContainers', 'containers']) {
    for (const [index, old] of itemsOf(before[list]).entries()) {
      const container = itemsOf(spec[list])[index]!;
      if (list === 'containers' || isSidecar(old)) checkRemoved(found, at.child(list).index(index), { container, old });
    }
  }
  checkOtherChanges(found, spec, before);
  return found.errors;
}

const mirror = 'kubernetes.io/config.mirror';

function unresizable(pod: KubeObject, old: KubeObject): string | undefined {
  if ([pod, old].some(hasAmounts)) return 'pods with pod-level resources cannot be resized';
  if (Object.hasOwn(old.metadata.annotations ?? {}, mirror)) return 'static pods cannot be resized';
  return fieldsOf(fieldsOf(old['spec'])['os'])['name'] === 'windows' ? 'windows pods cannot be resized' : undefined;
}

function hasAmounts(pod: KubeObject): boolean {
  const { requests, limits } = fieldsOf(fieldsOf(pod['spec'])['resources']);
  return Object.keys(fieldsOf(requests)).length + Object.keys(fieldsOf(limits)).length > 0;
}

/** A node that supports resizing reports the resources of its running containers. */
function isSupported(pod: KubeObject): boolean {
  const running = itemsOf(fieldsOf(pod['status'])['containerStatuses']).find(({ state }) => !isAbsent(fieldsOf(state)['running']));
  return running === undefined || !isAbsent(running['resources']);
}

function checkOrder(found: Findings, spec: Readonly<Fields>, before: Readonly<Fields>): boolean {
  const count = found.errors.length;
  for (const list of lists) {
    const [containers, old] = [itemsOf(spec[list]), itemsOf(before[list])];
    if (containers.length !== old.length) found.forbidden(at.child(list), `${list} may not be added or removed on resize`);
    else
      for (const [index, { name }] of old.entries())
        if (containers[index]!['name'] !== name)
          found.forbidden(at.child(list).index(index).child('name'), `${list} may not be renamed or reordered on resize`);
  }
  return found.errors.length === count;
}

function checkRemoved(found: Findings, path: FieldPath, { container, old }: Record<'container' | 'old', Readonly<Fields>>): void {
  const [now, then] = [fieldsOf(container['resources']), fieldsOf(old['resources'])];
  for (const field of ['requests', 'limits']) {
    const kept = fieldsOf(now[field]);
    if (Object.keys(fieldsOf(then[field])).some((name) => isAbsent(kept[name])))
      found.forbidden(path.child('resources', field), `resource ${field} cannot be removed`);
  }
}

const isSidecar = (container: Readonly<Fields>): boolean => container['restartPolicy'] === 'Always';

function checkOtherChanges(found: Findings, spec: Readonly<Fields>, before: Readonly<Fields>): void {
  for (const [index, container] of itemsOf(spec['containers']).entries()) {
    const old = itemsOf(before['containers'])[index]!;
    if (!isSameBut(container, old)) found.forbidden(at, 'only cpu and memory resources are mutable');
  }
  for (const [index, container] of itemsOf(spec['initContainers']).entries()) {
    const old = itemsOf(before['initContainers'])[index]!;
    if (isSidecar(container)) {
      if (!isSameBut(container, old)) found.forbidden(at, 'only cpu and memory resources for sidecar containers are mutable');
    } else if (!sameJson({ ...container }, { ...old })) found.forbidden(at, 'resources for non-sidecar init containers are immutable');
  }
}

/** Compares two containers, ignoring the resources that may change. */
function isSameBut(container: Readonly<Fields>, old: Readonly<Fields>): boolean {
  const then = fieldsOf(old['resources']);
  const resources: Fields = {};
  for (const field of ['requests', 'limits']) {
    const amounts = maybeFields(then[field]);
    if (amounts === undefined) continue;
    const kept: Fields = { ...fieldsOf(fieldsOf(container['resources'])[field]) };
    for (const name of resizable) {
      if (amounts[name] === undefined) delete kept[name];
      else kept[name] = amounts[name];
    }
    resources[field] = kept;
  }
  return sameJson({ ...container, resources }, { ...old, resources: { ...then } });
}
