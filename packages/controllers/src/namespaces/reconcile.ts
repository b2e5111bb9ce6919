import type { DiscoveredResource } from '@capstan/client';
import { done, type Result, requeueAfter, waitByAge } from '@capstan/controller';
import { type Findings, withFindings } from './conditions.ts';
import { deletableTypes, type Remains } from './content.ts';
import type { Namespace } from './namespace.ts';

const ourFinalizer = 'kubernetes';
/** How many types are emptied at the same time. */
const width = 8;

/** The actions available to the steps. */
export interface NamespaceActions {
  readonly discover: () => Promise<readonly DiscoveredResource[]>;
  /** Deletes the objects of a type and returns what is left of them. */
  readonly empty: (type: DiscoveredResource) => Promise<Remains | undefined>;
  readonly writeStatus: (namespace: Namespace) => Promise<Namespace>;
  readonly finalize: (namespace: Namespace) => Promise<void>;
  readonly now: () => Date;
}

/** The findings so far; each step adds to them. */
interface Progress {
  namespace: Namespace;
  types: readonly DiscoveredResource[];
  discoveryFailure: string | undefined;
  readonly failures: string[];
  readonly remains: Remains[];
}

/** A step ends the reconcile by returning a result. */
type Step = (progress: Progress, actions: NamespaceActions) => Promise<Result | undefined> | Result | undefined;

const steps: readonly Step[] = [findTypes, deletePods, deleteContent, writeConditions, waitForContent, release];

/** Empties a namespace that is being deleted, then removes our finalizer. It keeps no state, so it can continue after a crash at any point. */
export async function reconcileNamespace(namespace: Namespace | undefined, actions: NamespaceActions): Promise<Result> {
  if (namespace?.metadata.deletionTimestamp === undefined) return done;
  if (!(namespace.spec?.finalizers ?? []).includes(ourFinalizer)) return done;
  const progress: Progress = { namespace, types: [], discoveryFailure: undefined, failures: [], remains: [] };
  for (const step of steps) {
    const result = await step(progress, actions);
    if (result !== undefined) return result;
  }
  return done;
}

async function findTypes(progress: Progress, { discover }: NamespaceActions): Promise<undefined> {
  try {
    progress.types = deletableTypes(await discover());
  } catch (error) {
    progress.discoveryFailure = messageOf(error);
  }
}

/** Pods are deleted before the things that they use: secrets, accounts, network policies. */
async function deletePods(progress: Progress, actions: NamespaceActions): Promise<undefined> {
  const pods = progress.types.find(isPods);
  if (pods !== undefined) await emptyInto(progress, pods, actions);
}

async function deleteContent(progress: Progress, actions: NamespaceActions): Promise<undefined> {
  if (progress.remains.length > 0 || progress.failures.length > 0) return;
  const waiting = progress.types.filter((type) => !isPods(type)).values();
  const work = async (): Promise<void> => {
    for (const type of waiting) await emptyInto(progress, type, actions);
  };
  await Promise.all(Array.from({ length: width }, work));
}

async function writeConditions(progress: Progress, { writeStatus, now }: NamespaceActions): Promise<undefined> {
  const { namespace } = progress;
  const findings: Findings = progress;
  const conditions = withFindings(namespace.status?.conditions, findings, now());
  if (conditions === namespace.status?.conditions) return;
  progress.namespace = await writeStatus({ ...namespace, status: { ...namespace.status, phase: 'Terminating', conditions } });
}

function waitForContent({ namespace, discoveryFailure, failures, remains }: Progress, { now }: NamespaceActions): Result | undefined {
  const problems = [...(discoveryFailure === undefined ? [] : [discoveryFailure]), ...failures];
  if (problems.length > 0) return { type: 'error', error: new Error(problems.join(', ')) };
  if (remains.length === 0) return undefined;
  return requeueAfter(waitByAge(namespace.metadata.deletionTimestamp, { now: now(), min: 250, max: 8_000, part: 1 / 2 }));
}

async function release({ namespace }: Progress, { finalize }: NamespaceActions): Promise<undefined> {
  const finalizers = (namespace.spec?.finalizers ?? []).filter((one) => one !== ourFinalizer);
  await finalize({ ...namespace, spec: { ...namespace.spec, finalizers } });
}

async function emptyInto({ namespace, failures, remains }: Progress, type: DiscoveredResource, { empty }: NamespaceActions): Promise<void> {
  try {
    const left = await empty(type);
    if (left === undefined) return;
    remains.push(left);
    if (left.leaving || left.finalizers.size > 0) return;
    const { group, version, resource } = type;
    failures.push(
      `unexpected items still remain in namespace: ${namespace.metadata.name} for gvr: ${group}/${version}, Resource=${resource}`,
    );
  } catch (error) {
    failures.push(messageOf(error));
  }
}

function isPods({ group, resource }: DiscoveredResource): boolean {
  return group === '' && resource === 'pods';
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
