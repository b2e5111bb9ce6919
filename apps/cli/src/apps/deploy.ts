import { type AppInstance, appInstanceKind, finalOperationStates, newObject } from '@capstan/api';
import { isNotFound } from '@capstan/client';
import type { JsonObject } from '@capstan/machinery';
import { Failure } from '../failure.ts';
import { watchObject } from '../units/watch.ts';
import { type AppFlags, type Apps, answered, findApp, openApps } from './apps.ts';
import { showPlan, type Wanted } from './plan.ts';
import { readWish, type WishFlags, wishOf } from './wish.ts';
import { errorLines, nextActions, progressLine } from './words.ts';

export interface DeployFlags extends AppFlags, WishFlags {
  readonly plan?: boolean;
  readonly wait?: boolean;
}

const write = (line: string): void => void process.stdout.write(`${line}\n`);

/** Creates an instance, or changes its placement and parameters. Resolves with an exit code: 1 if it was waited for and has failed. */
export async function deployApp(name: string, flags: DeployFlags): Promise<number> {
  using apps = openApps(flags);
  const fromFile = flags.file === undefined ? {} : readWish(flags.file);
  const known = await apps.instances.get(name).catch((error: unknown) => {
    if (isNotFound(error)) return undefined;
    throw error;
  });
  const appName = flags.app ?? fromFile['app'] ?? known?.spec.app;
  if (typeof appName !== 'string') throw new Failure('usage', 'name an app with --app; "capstan app catalog" lists all.');
  if (known !== undefined && known.spec.app !== appName)
    throw new Failure('usage', `${name} is an instance of ${known.spec.app}, and cannot become one of ${appName}.`);
  const app = await findApp(apps, appName);
  const before = { ...(known?.spec as JsonObject | undefined), ...fromFile };
  const spec = wishOf(flags, before, { name: appName, spec: app.spec });
  if (flags.plan === true) return showPlan(apps, { name, spec, known });
  const instance = await put(apps, { name, spec, known });
  if (flags.wait !== true) {
    write(`${name}: ${progressLine(instance)}. Next: capstan app status ${name}`);
    return 0;
  }
  return waitForInstance(apps, instance);
}

function put(apps: Apps, { name, spec, known }: Wanted): Promise<AppInstance> {
  if (known !== undefined) return apps.instances.patch(name, { type: 'merge', patch: { spec } });
  const metadata = { name, namespace: apps.namespace };
  const object = newObject(appInstanceKind, { metadata, spec: spec as never }) as AppInstance;
  return answered(apps, apps.instances.create(object), '');
}

/** Prints each change until the wish is fulfilled or has failed. */
export async function waitForInstance(apps: Apps, { metadata }: AppInstance): Promise<number> {
  const { name = '', uid, generation = 0 } = metadata;
  let shown = '';
  for await (const instance of watchObject(apps.instances, { name, uid })) {
    const line = progressLine(instance);
    if (line !== shown) write(`${name}: ${line}`);
    shown = line;
    const outcome = outcomeOf(instance, generation);
    if (outcome === undefined) continue;
    for (const error of outcome === 0 ? [] : (instance.status?.lastErrors ?? [])) for (const text of errorLines(error)) write(text);
    if (outcome !== 0) for (const action of nextActions(instance)) write(`Next: ${action}`);
    return outcome;
  }
  throw new Failure('unexpected', `${name} was deleted.`);
}

/** The exit code, once nothing more happens by itself; undefined before. */
export function outcomeOf({ status, spec }: AppInstance, generation: number): 0 | 1 | undefined {
  if ((status?.observedGeneration ?? 0) < generation) return undefined;
  const { state, lastOperation } = status ?? {};
  if (lastOperation?.state === 'needs_intervention') return 1;
  if (lastOperation !== undefined && !finalOperationStates.has(lastOperation.state)) return undefined;
  if (state === 'failed' || lastOperation?.state === 'failed') return 1;
  return state === (spec.stopped ? 'stopped' : 'running') ? 0 : undefined;
}
