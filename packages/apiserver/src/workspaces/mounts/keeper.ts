import {
  type ClusterId,
  type KcpCondition,
  type MountReference,
  ownerAnnotation,
  phaseLabel,
  rootCluster,
  trimmedOwner,
  type Workspace,
} from '@capstan/api';
import { fieldsOf, formatTime, type KubeObject, parseApiVersion, sameJson, textOf } from '@capstan/machinery';
import type { CacheEntry } from '../../cache/entry.ts';
import { clusterOfKey } from '../../cache/key.ts';
import type { Catalogs } from '../../registry/catalogs.ts';
import type { RequestContext } from '../../registry/context.ts';
import { type Backend, cachedEntry } from '../../registry/objects.ts';
import type { Resource } from '../../registry/resource.ts';
import { update } from '../../registry/update.ts';
import { serverContext } from '../../upkeep/context.ts';
import { Turns } from '../../upkeep/turns.ts';
import { workspaces } from '../tree.ts';
import type { Mounts } from './mounts.ts';

export interface MountKeeperOptions {
  readonly backend: Backend;
  readonly catalogs: Catalogs;
  readonly mounts: Mounts;
  readonly now: () => Date;
  readonly onError: (error: unknown) => void;
}

const manager = 'capstan-workspace-mounts';
/** Everything is checked again after this time, in case an event was missed. */
const again = 60_000;

/** Copies the readiness and URL of mount objects to the workspaces that refer to them. */
export class MountKeeper implements Disposable {
  readonly #options: MountKeeperOptions;
  readonly #resource: Resource;
  /** Workspaces by the key of the object that they refer to, whatever its kind. */
  readonly #referring = new Map<string, Set<string>>();
  readonly #references = new Map<string, string>();
  readonly #turns: Turns<string>;
  readonly #timer: NodeJS.Timeout;

  constructor(options: MountKeeperOptions) {
    this.#options = options;
    this.#turns = new Turns({ work: (workspace) => this.#keep(workspace), onError: options.onError });
    const { backend, catalogs } = options;
    this.#resource = catalogs.of(rootCluster).resource(workspaces.group, 'v1alpha1', workspaces.resource)!;
    const held = backend.cache.resource(workspaces);
    held.entries.walk('', '\uffff', (entry) => {
      this.#learn(entry);
      return true;
    });
    held.listeners.add({
      changed: (events) => {
        for (const { type, entry } of events) {
          if (type === 'DELETED') this.#forget(entry.key);
          else this.#learn(entry);
        }
      },
    });
    backend.cache.followAll((_name, events) => {
      if (this.#referring.size === 0) return;
      for (const { entry } of events) for (const key of this.#referring.get(entry.key) ?? []) this.#turns.ask(key);
    });
    this.#timer = setInterval(() => {
      for (const key of this.#references.keys()) this.#turns.ask(key);
    }, again);
    this.#timer.unref();
  }

  [Symbol.dispose](): void {
    this.#turns[Symbol.dispose]();
    clearInterval(this.#timer);
  }

  #learn(entry: CacheEntry<Workspace>): void {
    const reference = referenceOf(entry.parse());
    if (reference === undefined) return;
    const key = `${entry.key.slice(0, entry.key.indexOf('/'))}/${reference.namespace}/${reference.name}`;
    this.#references.set(entry.key, key);
    const referring = this.#referring.get(key);
    if (referring === undefined) this.#referring.set(key, new Set([entry.key]));
    else referring.add(entry.key);
    this.#turns.ask(entry.key);
  }

  #forget(workspace: string): void {
    const key = this.#references.get(workspace);
    if (key === undefined) return;
    this.#references.delete(workspace);
    const referring = this.#referring.get(key);
    referring?.delete(workspace);
    if (referring?.size === 0) this.#referring.delete(key);
  }

  async #keep(key: string): Promise<void> {
    const { backend, now } = this.#options;
    const workspace = backend.cache.resource(workspaces).entries.get(key)?.parse();
    const reference = workspace && referenceOf(workspace);
    if (reference === undefined || workspace!.metadata.deletionTimestamp !== undefined) return;
    const [, , name = ''] = key.split('/');
    const cluster = clusterOfKey(key);
    const context = serverContext({ cluster, objects: backend.cache, now, userAgent: manager });
    const found = this.#found(reference, context);
    const write = async (subresource: string, wanted: (current: Workspace) => Workspace): Promise<void> => {
      if (sameJson(wanted(workspace!), workspace!)) return;
      const change = (current: KubeObject): { object: KubeObject } => ({ object: wanted(current) });
      await update(backend, context, { resource: this.#resource, namespace: '', name, subresource, manager, dryRun: false, change });
    };
    await write('', (current) => described(current, found));
    await write('status', (current) => ({ ...current, status: statusOf(current.status, found, now()) }));
  }

  #found(reference: Reference, context: RequestContext): Found {
    const { backend, catalogs, mounts } = this.#options;
    const { kind, name, namespace } = reference;
    const resource = kindOf(catalogs, context.cluster, reference);
    const object = resource && cachedEntry(backend, context, { resource, namespace, name })?.parse();
    const path = namespace === '' ? name : `${namespace}/${name}`;
    if (object === undefined) return lacking('MountObjectNotFound', `${kind} ${JSON.stringify(path)} not found`);
    const { URL: url, phase } = fieldsOf(object['status']);
    const said = textOf(url);
    if (textOf(phase) !== 'Ready') {
      return {
        ...lacking('MountObjectNotReady', `Mount is not reporting ready. See ${kind} ${JSON.stringify(name)} status for more details`),
        url: said,
      };
    }
    if (mounts.target(said) === undefined) {
      return {
        ...lacking('MountURLNotPermitted', `status.URL of ${kind} ${JSON.stringify(name)} is not an allowed mount target`),
        url: said,
      };
    }
    return { phase: 'Ready', url: said, condition: { type: conditionType, status: 'True' } };
  }
}

const conditionType = 'WorkspaceMountReady';

type Reference = Required<MountReference>;

/** The state of a mount object. */
interface Found {
  readonly phase: 'Ready' | 'Unavailable';
  readonly url: string;
  readonly condition: Omit<KcpCondition, 'lastTransitionTime'>;
}

function lacking(reason: string, message: string): Found {
  return { phase: 'Unavailable', url: '', condition: { type: conditionType, status: 'False', severity: 'Error', reason, message } };
}

function referenceOf({ spec }: Workspace): Reference | undefined {
  if (spec?.mount === undefined || (spec.cluster ?? '') !== '') return undefined;
  return { namespace: '', ...spec.mount.ref };
}

function kindOf(catalogs: Catalogs, cluster: ClusterId, { apiVersion, kind, namespace }: Reference): Resource | undefined {
  const { group, version } = parseApiVersion(apiVersion);
  for (const resource of catalogs.of(cluster).version(group, version)?.resources.values() ?? []) {
    if (resource.kind === kind && resource.namespaced === (namespace !== '')) return resource;
  }
  return undefined;
}

function described(workspace: Workspace, { url, phase }: Found): Workspace {
  const { metadata } = workspace;
  const owner = phase === 'Ready' ? trimmedOwner(metadata.annotations?.[ownerAnnotation]) : undefined;
  return {
    ...workspace,
    metadata: {
      ...metadata,
      labels: { ...metadata.labels, [phaseLabel]: phase },
      ...(owner !== undefined && { annotations: { ...metadata.annotations, [ownerAnnotation]: owner } }),
    },
    spec: { ...workspace.spec, ...(url !== '' && { URL: url }) },
  };
}

/** Other conditions are kept, and an unchanged condition keeps its time. */
function statusOf(status: Workspace['status'], { phase, condition }: Found, now: Date): NonNullable<Workspace['status']> {
  const conditions = status?.conditions ?? [];
  const before = conditions.find(({ type }) => type === conditionType);
  const lastTransitionTime = before?.status === condition.status ? before.lastTransitionTime : formatTime(now);
  const others = conditions.filter(({ type }) => type !== conditionType);
  return { ...status, phase, conditions: [...others, { ...condition, lastTransitionTime }].sort(byType) };
}

const byType = (left: KcpCondition, right: KcpCondition): number => (left.type < right.type ? -1 : 1);
