import { createHash } from 'node:crypto';
import {
  type Allocation,
  type App,
  type AppInstance,
  type AppMember,
  type AppOperation,
  allocationKind,
  appInstanceKind,
  appInstanceLabel,
  appKind,
  appMemberKind,
  appOperationKind,
  type GPUNode,
  gpuNodeKind,
  type NodeBooking,
  type NodeScript,
  type NodeTask,
  nodeBookingKind,
  nodeScriptKind,
  nodeTaskKind,
} from '@capstan/api';
import { clusterOf, formatKey, type Informer, type InformerFactory, type ObjectKey } from '@capstan/client';
import { findCondition, type Predicate } from '@capstan/controller';

/** The local copies that decisions about instances read. */
export interface Copies {
  readonly instances: Informer<AppInstance>;
  readonly members: Informer<AppMember>;
  readonly operations: Informer<AppOperation>;
  readonly allocations: Informer<Allocation>;
  readonly apps: Informer<App>;
  readonly nodes: Informer<GPUNode>;
  readonly bookings: Informer<NodeBooking>;
  readonly scripts: Informer<NodeScript>;
  readonly tasks: Informer<NodeTask>;
}

const byInstance = 'instance';
const byNode = 'node';
const byApp = 'app';
const byAllocation = 'allocation';

export const instanceTasks = { labelSelector: appInstanceLabel };

/** `there` are the informers of root:platform. */
export function copiesOf(informers: InformerFactory, there: InformerFactory): Copies {
  const instances = informers.informer<AppInstance>(appInstanceKind);
  instances.addIndex(byApp, ({ spec }) => [spec.app]);
  instances.addIndex(byAllocation, (one) => namesIn(one).map((name) => formatKey({ ...placeOf(one), name })));
  const members = informers.informer<AppMember>(appMemberKind);
  members.addIndex(byInstance, (one) => [formatKey({ ...placeOf(one), name: one.spec.instance })]);
  members.addIndex(byNode, ({ spec }) => [spec.node]);
  const operations = informers.informer<AppOperation>(appOperationKind);
  operations.addIndex(byInstance, (one) => [formatKey({ ...placeOf(one), name: one.spec.instance })]);
  const tasks = there.informer<NodeTask>(nodeTaskKind, instanceTasks);
  tasks.addIndex(byInstance, ({ metadata }) => [metadata.labels?.[appInstanceLabel] ?? '']);
  return {
    instances,
    members,
    operations,
    tasks,
    allocations: informers.informer<Allocation>(allocationKind),
    apps: there.informer<App>(appKind),
    nodes: there.informer<GPUNode>(gpuNodeKind),
    bookings: there.informer<NodeBooking>(nodeBookingKind),
    scripts: there.informer<NodeScript>(nodeScriptKind),
  };
}

interface Located {
  readonly metadata: AppInstance['metadata'];
}

function placeOf(object: Located): Omit<ObjectKey, 'name'> {
  const cluster = clusterOf(object as AppInstance);
  return { ...(cluster !== undefined && { cluster }), namespace: object.metadata.namespace };
}

export const keyOf = (object: Located): ObjectKey => ({ ...placeOf(object), name: object.metadata.name ?? '' });

/** Texts of the placement that can be names of Allocations. A name too many costs a look. */
export function namesIn({ spec }: AppInstance): string[] {
  const found = new Set<string>();
  const visit = (value: unknown): void => {
    if (typeof value === 'string') found.add(value);
    else if (typeof value === 'object' && value !== null) for (const item of Object.values(value)) visit(item);
  };
  visit(spec.placement);
  return [...found].slice(0, 2048);
}

export const membersOf = ({ members }: Copies, key: ObjectKey): AppMember[] => members.byIndex(byInstance, formatKey(key));
export const operationsOf = ({ operations }: Copies, key: ObjectKey): AppOperation[] => operations.byIndex(byInstance, formatKey(key));
export const tasksOf = ({ tasks }: Copies, uid: string): NodeTask[] => tasks.byIndex(byInstance, uid);

/** The instance that an operation or a member names. */
export const namedInstance = (object: AppMember | AppOperation): ObjectKey[] => [{ ...placeOf(object), name: object.spec.instance }];

export const instancesOn = ({ members }: Copies, node: string): ObjectKey[] => members.byIndex(byNode, node).flatMap(namedInstance);
export const instancesOf = ({ instances }: Copies, app: string): ObjectKey[] => instances.byIndex(byApp, app).map(keyOf);
export const instancesWith = ({ instances }: Copies, allocation: Allocation): ObjectKey[] =>
  instances.byIndex(byAllocation, formatKey(keyOf(allocation))).map(keyOf);

/** Agents report often; only this concerns instances. */
export const nodeConcernsApps: Predicate<GPUNode> = (change) => change.type !== 'updated' || factsOf(change.object) !== factsOf(change.old);

function factsOf({ spec, status, metadata }: GPUNode): string {
  const gpus = (status?.gpus ?? []).map(({ uuid, health }) => [uuid, health.state]);
  return JSON.stringify([
    metadata.deletionTimestamp,
    spec?.lost,
    findCondition(status?.conditions, 'Ready')?.status,
    gpus,
    status?.addresses,
  ]);
}

const hashes = new WeakMap<NodeScript, string>();

export function scriptHash({ scripts }: Copies, name: string): string | undefined {
  const script = scripts.get({ name });
  if (script === undefined) return undefined;
  const known = hashes.get(script) ?? createHash('sha256').update(script.spec.content).digest('hex');
  hashes.set(script, known);
  return known;
}
