import { existsSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, dirname, isAbsolute, join } from 'node:path';
import { isObject, type JsonObject, parseYaml } from '@capstan/machinery';

/** One entry of a kubeconfig, and the folder that its relative paths refer to. */
export interface Entry {
  readonly fields: JsonObject;
  readonly folder: string;
}

/** The merged content of one or more kubeconfig files. The files that they refer to are not read yet. */
export interface Kubeconfig {
  readonly clusters: ReadonlyMap<string, Entry>;
  readonly users: ReadonlyMap<string, Entry>;
  readonly contexts: ReadonlyMap<string, Entry>;
  readonly currentContext: string;
  /** For messages. */
  readonly sources: readonly string[];
}

export class KubeconfigError extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'KubeconfigError';
  }
}

/** Parses one kubeconfig. `path` is its location, which relative paths in it refer to. */
export function parseKubeconfig(text: string, path: string): Kubeconfig {
  let parsed: unknown;
  try {
    parsed = parseYaml(text);
  } catch (error) {
    throw new KubeconfigError(`${path} is not valid YAML: ${error instanceof Error ? error.message : String(error)}`, error);
  }
  if (parsed === null) parsed = {};
  if (!isObject(parsed)) throw new KubeconfigError(`${path}: expected a kubeconfig, found something that is not a mapping`);
  const { kind, apiVersion } = parsed;
  if ((kind !== undefined && kind !== 'Config') || (apiVersion !== undefined && apiVersion !== 'v1')) {
    throw new KubeconfigError(`${path}: expected kind Config of v1, found ${JSON.stringify(kind)} of ${JSON.stringify(apiVersion)}`);
  }
  const config = parsed;
  const folder = dirname(path);
  const entries = (list: string, field: string): Map<string, Entry> => {
    const found = new Map<string, Entry>();
    const given = config[list] ?? [];
    if (!Array.isArray(given)) throw new KubeconfigError(`${path}: ${list} must be a list`);
    for (const item of given) {
      if (!isObject(item) || typeof item.name !== 'string') throw new KubeconfigError(`${path}: each entry of ${list} needs a name`);
      const fields = item[field];
      if (!found.has(item.name)) found.set(item.name, { fields: isObject(fields) ? fields : {}, folder });
    }
    return found;
  };
  return {
    clusters: entries('clusters', 'cluster'),
    users: entries('users', 'user'),
    contexts: entries('contexts', 'context'),
    currentContext: typeof config['current-context'] === 'string' ? config['current-context'] : '',
    sources: [path],
  };
}

/** Merges several files as kubectl does: the first entry with a name wins. */
export function mergeKubeconfigs(configs: readonly Kubeconfig[]): Kubeconfig {
  const union = (part: 'clusters' | 'users' | 'contexts'): Map<string, Entry> =>
    new Map(configs.toReversed().flatMap((config) => [...config[part]]));
  return {
    clusters: union('clusters'),
    users: union('users'),
    contexts: union('contexts'),
    currentContext: configs.find((config) => config.currentContext !== '')?.currentContext ?? '',
    sources: configs.flatMap((config) => config.sources),
  };
}

export interface LoadOptions {
  /** Exactly this file; it must exist. */
  readonly path?: string;
  readonly environment?: Readonly<Record<string, string | undefined>>;
}

/** The files to read, in order: the given one, those of `KUBECONFIG`, or `~/.kube/config`. */
export function kubeconfigPaths({ path, environment = process.env }: LoadOptions = {}): string[] {
  if (path !== undefined) return [path];
  const listed = (environment.KUBECONFIG ?? '').split(delimiter).filter((one) => one !== '');
  return listed.length > 0 ? [...new Set(listed)] : [join(environment.HOME ?? homedir(), '.kube', 'config')];
}

/** Reads the kubeconfig that kubectl would read. Skips missing files of a list, but fails if all are missing. */
export function loadKubeconfig(options: LoadOptions = {}): Kubeconfig {
  const paths = kubeconfigPaths(options);
  const present = options.path === undefined ? paths.filter((path) => existsSync(path)) : paths;
  if (present.length === 0) throw new KubeconfigError(`found no kubeconfig at ${paths.join(', ')}; set KUBECONFIG to yours`);
  return mergeKubeconfigs(
    present.map((path) => {
      let text: string;
      try {
        text = readFileSync(path, 'utf8');
      } catch (error) {
        throw new KubeconfigError(`cannot read the kubeconfig ${path}`, error);
      }
      return parseKubeconfig(text, path);
    }),
  );
}

/** Resolves a path in an entry relative to its file. */
export function resolvePath({ folder }: Entry, path: string): string {
  return isAbsolute(path) ? path : join(folder, path);
}
