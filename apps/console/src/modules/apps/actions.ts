import {
  type AppInstance,
  type AppOperation,
  type AppOperationStatus,
  type AppStep,
  appInstanceKind,
  appOperationKind,
  appPreviewAnnotation,
  finalOperationStates,
  newObject,
} from '@capstan/api';
import { isNotFound } from '@capstan/client/browser';
import type { JsonObject } from '@capstan/machinery/objects';
import { kubeClient } from '../kube/client.ts';

export interface AppPlace {
  readonly workspace: string;
  readonly namespace: string;
}

const instancesIn = ({ workspace, namespace }: AppPlace) => kubeClient(workspace).resource<AppInstance>(appInstanceKind).in(namespace);
const operationsIn = ({ workspace, namespace }: AppPlace) => kubeClient(workspace).resource<AppOperation>(appOperationKind).in(namespace);

/** Stop, start, pause and the end of a pause are wishes: the platform begins the operations itself. */
export const wish = (
  place: AppPlace,
  name: string,
  spec: { readonly stopped?: boolean; readonly paused?: boolean },
): Promise<AppInstance> => instancesIn(place).patch(name, { type: 'merge', patch: { spec } });

export const deleteInstance = (place: AppPlace, name: string): Promise<unknown> => instancesIn(place).delete(name);

export interface OperationRequest {
  readonly instance: string;
  readonly type: string;
  readonly member?: string | undefined;
  readonly parameters?: JsonObject;
  readonly dryRun?: boolean;
  /** How many steps of a plan come before the first that is shown. */
  readonly skipSteps?: number;
}

export function beginOperation(place: AppPlace, request: OperationRequest): Promise<AppOperation> {
  const { instance, type, member, parameters = {}, dryRun = false, skipSteps = 0 } = request;
  const metadata = { generateName: `${instance}-${dryRun ? 'plan' : type}-`, namespace: place.namespace };
  const spec = {
    instance,
    type,
    dryRun,
    cancelled: false,
    ...(member !== undefined && { member }),
    ...(skipSteps > 0 && { skipSteps }),
    ...(Object.keys(parameters).length > 0 && { parameters }),
  };
  return operationsIn(place).create(newObject(appOperationKind, { metadata, spec }) as AppOperation);
}

export interface Wish {
  readonly name: string;
  readonly app: string;
  readonly version: string;
  readonly placement: JsonObject;
  readonly parameters: JsonObject;
}

/** Has the steps of a deployment planned. The instance is a preview: nothing is done for it, and the platform deletes it if the person goes away. */
export async function planDeployment(place: AppPlace, { name, app, version, placement, parameters }: Wish): Promise<AppOperation> {
  const metadata = { name, namespace: place.namespace, annotations: { [appPreviewAnnotation]: 'console' } };
  const spec = { app, version, placement, paused: true, ...(Object.keys(parameters).length > 0 && { parameters }) };
  await instancesIn(place).create(newObject(appInstanceKind, { metadata, spec }) as AppInstance);
  try {
    return await beginOperation(place, { instance: name, type: 'deploy', dryRun: true });
  } catch (error) {
    await dropPlan(place, name).catch(() => {});
    throw error;
  }
}

/** In milliseconds: how long a part of a plan may take. */
const planTime = 60_000;

/** The next steps of a plan that has more than its operation has room for. */
export async function planRest(
  place: AppPlace,
  { instance, skipSteps }: { readonly instance: string; readonly skipSteps: number },
): Promise<readonly AppStep[]> {
  const { metadata } = await beginOperation(place, { instance, type: 'deploy', dryRun: true, skipSteps });
  try {
    const { state, steps = [], message } = await untilPlanned(place, metadata);
    if (state !== 'succeeded') throw new Error(message ?? 'The plan has failed.');
    return steps;
  } finally {
    await operationsIn(place)
      .delete(metadata.name!)
      .catch(() => {});
  }
}

async function untilPlanned(place: AppPlace, { name, resourceVersion }: AppOperation['metadata']): Promise<AppOperationStatus> {
  const signal = AbortSignal.timeout(planTime);
  const changes = operationsIn(place).watch({ fieldSelector: `metadata.name=${name}`, resourceVersion: resourceVersion!, signal });
  try {
    for await (const { type, object } of changes)
      if (type !== 'BOOKMARK' && object.status !== undefined && finalOperationStates.has(object.status.state ?? 'pending'))
        return object.status;
  } catch (error) {
    if (!signal.aborted) throw error;
  }
  throw new Error('The plan was not made in time. Try again in a moment.');
}

/** Turns a preview into an instance that the platform deploys. */
export async function deployPlanned(place: AppPlace, name: string, operation: string): Promise<void> {
  await operationsIn(place)
    .delete(operation)
    .catch(() => {});
  const patch = { metadata: { annotations: { [appPreviewAnnotation]: null } }, spec: { paused: false } };
  await instancesIn(place).patch(name, { type: 'merge', patch });
}

/** Deletes a preview. One that is gone already needs nothing. */
export async function dropPlan(place: AppPlace, name: string): Promise<void> {
  try {
    await instancesIn(place).delete(name);
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}
