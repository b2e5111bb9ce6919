import { type Fields, fieldError, fieldsOf, isAbsent, itemsOf, maybeFields, textOf } from '@capstan/machinery';

/** A file in a volume, and its source. */
interface VolumePath {
  readonly path: string;
  readonly source: string;
}

/** Warnings for files of a volume that would overwrite each other or collide with a directory. */
export function overlappingPaths(volumes: readonly Fields[]): string[] {
  return volumes.flatMap((volume) => {
    const name = fieldError.quote(textOf(volume['name']));
    const configMap = maybeFields(volume['configMap']);
    const secret = maybeFields(volume['secret']);
    const told = (what: string, paths: readonly VolumePath[]): string[] =>
      overlaps(paths).map((overlap) => `volume ${name} (${what}): overlapping paths: ${overlap}`);
    return [
      ...(configMap === undefined ? [] : told(`ConfigMap ${fieldError.quote(textOf(configMap['name']))}`, pathsOf(configMap))),
      ...(secret === undefined ? [] : told(`Secret ${fieldError.quote(textOf(secret['secretName']))}`, pathsOf(secret))),
      ...told('DownwardAPI', pathsOf(fieldsOf(volume['downwardAPI']))),
      ...projected(name, fieldsOf(volume['projected']), told),
    ];
  });
}

function projected(name: string, volume: Readonly<Fields>, told: (what: string, paths: readonly VolumePath[]) => string[]): string[] {
  const sources = itemsOf(volume['sources']);
  const empty = sources.filter((source) => Object.values(source).every(isAbsent));
  return [...empty.map(() => `volume ${name} (Projected) has no sources provided`), ...told('Projected', sources.flatMap(projectedPaths))];
}

function projectedPaths(source: Readonly<Fields>): readonly VolumePath[] {
  const configMap = maybeFields(source['configMap']);
  if (configMap !== undefined) return pathsOf(configMap, `ConfigMap ${fieldError.quote(textOf(configMap['name']))}`);
  const secret = maybeFields(source['secret']);
  if (secret !== undefined) return pathsOf(secret, `Secret ${fieldError.quote(textOf(secret['name']))}`);
  const downward = maybeFields(source['downwardAPI']);
  if (downward !== undefined) return pathsOf(downward, 'DownwardAPI');
  const token = maybeFields(source['serviceAccountToken']);
  if (token !== undefined) return [{ path: textOf(token['path']), source: 'ServiceAccountToken' }];
  const bundle = maybeFields(source['clusterTrustBundle']);
  if (bundle === undefined) return [];
  const named = fieldError.quote(textOf(bundle['name'] ?? bundle['signerName']));
  return [{ path: textOf(bundle['path']), source: `ClusterTrustBundle ${named}` }];
}

function pathsOf(source: Readonly<Fields>, named = ''): VolumePath[] {
  return itemsOf(source['items']).map(({ path }) => ({ path: textOf(path), source: named }));
}

function overlaps(paths: readonly VolumePath[]): string[] {
  const before: VolumePath[] = [];
  const found: string[] = [];
  for (const { path: given, source } of paths) {
    const path = given.replace(/\/+$/, '');
    for (const other of before) {
      if (path === '' || other.path === '') continue;
      if (isWithin(path, other.path) || isWithin(other.path, path)) found.push(`${shown({ path, source })} with ${shown(other)}`);
    }
    before.push({ path, source });
  }
  return found;
}

function isWithin(path: string, folder: string): boolean {
  return `${path}/`.startsWith(`${folder}/`);
}

function shown({ path, source }: VolumePath): string {
  return source === '' ? fieldError.quote(path) : `${fieldError.quote(path)} (${source})`;
}
