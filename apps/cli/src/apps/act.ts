import { type AppOperation, appOperationKind, finalOperationStates, newObject } from '@capstan/api';
import type { JsonObject } from '@capstan/machinery';
import { Failure } from '../failure.ts';
import { watchObject } from '../units/watch.ts';
import { printable } from '../units/words.ts';
import { type AppFlags, type Apps, findApp, findInstance, openApps } from './apps.ts';
import { waitForInstance } from './deploy.ts';
import { fieldsFrom } from './wish.ts';
import { errorLines, operationLine, progressLine } from './words.ts';

export interface ActFlags extends AppFlags {
  readonly member?: string;
  readonly set?: readonly string[];
  readonly wait?: boolean;
}

const write = (line: string): void => void process.stdout.write(`${line}\n`);

/** Actions that are wishes: the platform begins the operation itself. */
const wishes: Readonly<Record<string, JsonObject>> = {
  stop: { stopped: true },
  start: { stopped: false },
  pause: { paused: true },
  unpause: { paused: false },
};

/** Does something with an instance or a member. Resolves with an exit code: 1 if it was waited for and has failed. */
export async function actOn(name: string, action: string, flags: ActFlags): Promise<number> {
  using apps = openApps(flags);
  const instance = await findInstance(apps, name);
  const wish = flags.member === undefined ? wishes[action] : undefined;
  if (wish !== undefined) {
    const changed = await apps.instances.patch(name, { type: 'merge', patch: { spec: wish } });
    if (flags.wait === true && 'stopped' in wish) return waitForInstance(apps, changed);
    write(`${name}: ${action} was requested`);
    return 0;
  }
  const { spec } = await findApp(apps, instance.spec.app);
  const own = spec.operations?.find((one) => one.name === action);
  if (own?.scope === 'member' && flags.member === undefined)
    throw new Failure('usage', `${action} works on one member: name it with --member.`);
  const parameters = fieldsFrom(flags.set ?? [], own?.parameters, '--set');
  const operation = await begin(apps, { instance: name, type: action, member: flags.member, parameters });
  if (flags.wait !== true) {
    write(`${operation.metadata.name}: ${action} was requested. Next: capstan app status ${name}`);
    return 0;
  }
  return waitForOperation(apps, operation);
}

interface Request {
  readonly instance: string;
  readonly type: string;
  readonly member: string | undefined;
  readonly parameters: JsonObject;
}

function begin(apps: Apps, { instance, type, member, parameters }: Request): Promise<AppOperation> {
  const metadata = { generateName: `${instance}-${type}-`, namespace: apps.namespace };
  const spec = {
    instance,
    type,
    dryRun: false,
    cancelled: false,
    ...(member !== undefined && { member }),
    ...(Object.keys(parameters).length > 0 && { parameters }),
  };
  return apps.operations.create(newObject(appOperationKind, { metadata, spec }) as AppOperation);
}

async function waitForOperation(apps: Apps, { metadata: { name = '', uid } }: AppOperation): Promise<number> {
  let shown = '';
  for await (const operation of watchObject(apps.operations, { name, uid })) {
    const line = operationLine(operation);
    if (line !== shown) write(`${name}: ${line}`);
    shown = line;
    const { state = 'pending', errors = [], instructions } = operation.status ?? {};
    if (!finalOperationStates.has(state) && state !== 'needs_intervention') continue;
    for (const error of state === 'succeeded' ? [] : errors) for (const text of errorLines(error)) write(text);
    if (state !== 'succeeded' && instructions !== undefined) write(printable(instructions));
    return state === 'succeeded' ? 0 : 1;
  }
  throw new Failure('unexpected', `the operation ${name} was deleted.`);
}

/** Deletes instances: the platform removes them from their nodes first. */
export async function removeInstances(names: readonly string[], { wait, ...flags }: AppFlags & { readonly wait: boolean }): Promise<void> {
  using apps = openApps(flags);
  for (const name of names) {
    const { metadata } = await findInstance(apps, name);
    await apps.instances.delete(name);
    if (!wait) {
      write(`${name}: removing`);
      continue;
    }
    let shown = '';
    const left: string[] = [];
    for await (const instance of watchObject(apps.instances, { name, uid: metadata.uid })) {
      const line = progressLine(instance);
      if (line !== shown) write(`${name}: ${line}`);
      shown = line;
      left.splice(
        0,
        left.length,
        ...(instance.status?.residues ?? []).map(({ node, name: what, message }) => `${node}: ${what}: ${message}`),
      );
    }
    write(`${name}: deleted`);
    for (const line of left) write(`  left on ${line}`);
  }
}
