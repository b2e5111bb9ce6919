import type { FieldPath } from '@capstan/machinery';
import { type Fields, itemsOf, textOf } from '@capstan/machinery';
import type { Findings } from '../shared/findings.ts';
import { backstepProblem, checkDescendingPath } from '../volumes/volume-paths.ts';

/** The mountable volumes of a pod, by name. */
export type Volumes = ReadonlyMap<string, Fields>;

export function checkMounts(found: Findings, at: FieldPath, { container, volumes }: { container: Fields; volumes: Volumes }): void {
  const devices = new Set(itemsOf(container['volumeDevices']).map(({ name }) => name));
  const devicePaths = new Set(itemsOf(container['volumeDevices']).map(({ devicePath }) => devicePath));
  const seen = new Set<string>();
  for (const [index, mount] of itemsOf(container['volumeMounts']).entries()) {
    const path = at.child('volumeMounts').index(index);
    const name = textOf(mount['name']);
    const mountPath = textOf(mount['mountPath']);
    if (name === '') found.required(path.child('name'));
    if (!volumes.has(name)) found.notFound(path.child('name'), name);
    if (mountPath === '') found.required(path.child('mountPath'));
    if (seen.has(mountPath)) found.invalid(path.child('mountPath'), mountPath, 'must be unique');
    seen.add(mountPath);
    if (devices.has(name)) found.invalid(path.child('name'), name, 'must not already exist in volumeDevices');
    if (devicePaths.has(mountPath)) {
      found.invalid(path.child('mountPath'), mountPath, 'must not already exist as a path in volumeDevices');
    }
    checkSubPaths(found, at.child('volumeMounts'), { mount, path });
    found.optionalOneOf(at.child('volumeMounts', 'mountPropagation'), mount['mountPropagation'], [
      'Bidirectional',
      'HostToContainer',
      'None',
    ]);
    found.optionalOneOf(at.child('volumeMounts', 'recursiveReadOnly'), mount['recursiveReadOnly'], ['Disabled', 'Enabled', 'IfPossible']);
  }
}

function checkSubPaths(found: Findings, at: FieldPath, { mount, path }: { mount: Fields; path: FieldPath }): void {
  const subPath = textOf(mount['subPath']);
  const expression = textOf(mount['subPathExpr']);
  if (subPath !== '') checkDescendingPath(found, at.child('subPath'), subPath);
  if (expression === '') return;
  if (subPath !== '') found.invalid(path.child('subPathExpr'), expression, 'subPathExpr and subPath are mutually exclusive');
  checkDescendingPath(found, at.child('subPathExpr'), expression);
}

export function checkDevices(found: Findings, at: FieldPath, { container, volumes }: { container: Fields; volumes: Volumes }): void {
  const mounts = new Set(itemsOf(container['volumeMounts']).map(({ name }) => name));
  const mountPaths = new Set(itemsOf(container['volumeMounts']).map(({ mountPath }) => mountPath));
  const seenNames = new Set<string>();
  const seenPaths = new Set<string>();
  for (const [index, device] of itemsOf(container['volumeDevices']).entries()) {
    const path = at.child('volumeDevices').index(index);
    const name = textOf(device['name']);
    const devicePath = textOf(device['devicePath']);
    const volume = volumes.get(name);
    if (name === '') found.required(path.child('name'));
    if (seenNames.has(name)) found.invalid(path.child('name'), name, 'must be unique');
    if (volume === undefined) found.notFound(path.child('name'), name);
    else if (volume['persistentVolumeClaim'] === undefined && volume['ephemeral'] === undefined) {
      found.invalid(path.child('name'), name, 'can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode');
    }
    if (devicePath === '') found.required(path.child('devicePath'));
    if (seenPaths.has(devicePath)) found.invalid(path.child('devicePath'), devicePath, 'must be unique');
    if (backstepProblem(devicePath) !== undefined) found.invalid(path.child('devicePath'), devicePath, "can not contain backsteps ('..')");
    if (mounts.has(name)) found.invalid(path.child('name'), name, 'must not already exist in volumeMounts');
    if (mountPaths.has(devicePath)) {
      found.invalid(path.child('devicePath'), devicePath, 'must not already exist as a path in volumeMounts');
    }
    seenNames.add(name);
    seenPaths.add(devicePath);
  }
}
