import {
  type AppInstance,
  type AppOperation,
  appInstanceKind,
  appOperationKind,
  appPreviewAnnotation,
  finalOperationStates,
  newObject,
} from '@capstan/api';
import { isNotFound } from '@capstan/client';
import { ignoring } from '@capstan/controller';
import type { JsonObject } from '@capstan/machinery';
import { Failure } from '../failure.ts';
import { watchObject } from '../units/watch.ts';
import { type Apps, answered } from './apps.ts';
import { errorLines, stepLines } from './words.ts';

const write = (line: string): void => void process.stdout.write(`${line}\n`);
/** In milliseconds: how long a plan may take. */
const planTime = 60_000;

/** An instance as somebody wants it. */
export interface Wanted {
  readonly name: string;
  readonly spec: JsonObject;
  readonly known: AppInstance | undefined;
}

/** Has the steps planned and prints them. Resolves with an exit code: 1 if there is no plan. */
export async function showPlan(apps: Apps, { name, spec, known }: Wanted): Promise<number> {
  if (known !== undefined && JSON.stringify(known.spec) !== JSON.stringify({ ...known.spec, ...spec }))
    throw new Failure('usage', `${name} exists: a plan shows its present wish. Change it first, with spec.paused to keep it from running.`);
  if (known !== undefined) return showSteps(apps, { instance: name, type: 'reconcile' });
  const instance = await preview(apps, spec);
  try {
    return await showSteps(apps, { instance, type: 'deploy' });
  } finally {
    await ignoring(apps.instances.delete(instance), isNotFound);
  }
}

/** Creates an instance for a moment, for which nothing is done. The platform deletes it should this process not come to it. */
async function preview(apps: Apps, spec: JsonObject): Promise<string> {
  const metadata = { generateName: 'preview-', namespace: apps.namespace, annotations: { [appPreviewAnnotation]: 'true' } };
  const object = newObject(appInstanceKind, { metadata, spec: { ...spec, paused: true } as never }) as AppInstance;
  const made = await answered(apps, apps.instances.create(object), '');
  return made.metadata.name ?? '';
}

interface Planning {
  readonly instance: string;
  readonly type: string;
  readonly skipSteps?: number;
}

async function showSteps(apps: Apps, planning: Planning): Promise<number> {
  const { status = {} } = await planned(apps, planning);
  const { state, message, errors = [], progress } = status;
  const steps = [...(status.steps ?? [])];
  for (const error of errors) for (const line of errorLines(error)) write(line);
  if (steps.length === 0) write(message ?? `The plan is ${state ?? 'not there yet'}.`);
  // An operation shows only a part of a long plan.
  while (steps.length < (progress?.total ?? 0)) {
    const more = (await planned(apps, { ...planning, skipSteps: steps.length })).status?.steps ?? [];
    if (more.length === 0) break;
    steps.push(...more);
  }
  for (const line of stepLines(steps)) write(line);
  return errors.length > 0 || steps.length === 0 ? 1 : 0;
}

async function planned(apps: Apps, planning: Planning): Promise<AppOperation> {
  const metadata = { generateName: `${planning.instance}-plan-`, namespace: apps.namespace };
  const spec = { ...planning, dryRun: true, cancelled: false };
  const made = await apps.operations.create(newObject(appOperationKind, { metadata, spec }) as AppOperation);
  const { name = '', uid } = made.metadata;
  try {
    let last = made;
    for await (const operation of watchObject(apps.operations, { name, uid, signal: AbortSignal.timeout(planTime) })) {
      last = operation;
      if (finalOperationStates.has(operation.status?.state ?? '')) break;
    }
    return last;
  } finally {
    await apps.operations.delete(name).catch(() => {});
  }
}
