import { type AppOperation, type AppStep, appOperationKind, finalOperationStates } from '@capstan/api';
import { followLines, isNotFound } from '@capstan/client';
import { ignoring } from '@capstan/controller';
import { Failure } from '../failure.ts';
import { isPassing } from '../units/units.ts';
import { watchObject } from '../units/watch.ts';
import { type AppFlags, type Apps, membersOf, openApps, operationsOf } from './apps.ts';
import { FollowedSteps } from './followed-steps.ts';
import { errorLines, outputLines, stepLines } from './words.ts';

export interface LogFlags extends AppFlags {
  readonly operation?: string;
  /** Lines of each step. */
  readonly tail: string;
  readonly follow?: boolean;
}

const write = (line: string): void => void process.stdout.write(`${line}\n`);
/** In milliseconds: a step may print nothing for as long as it runs. */
const longestSilence = 24 * 3_600_000;

/** Prints the steps of an operation, the last one of the instance by default, with the end of their output. Resolves with an exit code: 1 if it was followed and has failed. */
export async function printLogs(name: string, { operation, tail, follow = false, ...flags }: LogFlags): Promise<number> {
  if (!/^\d{1,6}$/.test(tail)) throw new Failure('usage', '--tail: expected a number of lines.');
  using apps = openApps(flags);
  const all = await operationsOf(apps, name);
  const found = operation === undefined ? all.at(-1) : all.find(({ metadata }) => metadata.name === operation);
  if (found === undefined) {
    write(operation === undefined ? `${name} has had no operations.` : `${name} has no operation ${operation}.`);
    return 0;
  }
  const nodes = new Map((await membersOf(apps, name)).map(({ metadata, spec }) => [metadata.name ?? '', spec.node]));
  if (follow) return followSteps(apps, found, { tail, nodes });
  writeHead(found);
  for (const step of (found.status?.steps ?? []).toSorted((one, other) => one.stage - other.stage)) {
    for (const line of stepLines([step], nodes)) write(line);
    // Problems have the output of failed steps.
    if (step.state === 'failed' || tail === '0') continue;
    for (const line of outputLines(await outputOf(apps, pathOf(apps, found, { step, tail })))) write(line);
  }
  writeErrors(found);
  return 0;
}

const writeHead = ({ metadata, spec, status }: AppOperation): void =>
  write(`${metadata.name}, ${spec.type}: ${status?.state ?? 'pending'}`);

function writeErrors({ status }: AppOperation): void {
  for (const error of status?.errors ?? []) for (const line of errorLines(error)) write(line);
}

interface Following {
  readonly tail: string;
  readonly nodes: ReadonlyMap<string, string>;
}

/** Prints steps as they begin and end, and their output as it comes, until the operation has ended or needs a person. */
async function followSteps(apps: Apps, { metadata: { name = '', uid } }: AppOperation, { tail, nodes }: Following): Promise<number> {
  let last: AppOperation | undefined;
  const steps = new FollowedSteps({
    write,
    nodes,
    follow: async (step, onLine) => {
      if (tail === '0' || last === undefined) return;
      const path = `${pathOf(apps, last, { step, tail })}&follow=true`;
      const { signal } = new AbortController();
      await followLines(apps.client, { path, idle: longestSilence, signal, onLine }).catch((error: unknown) => {
        if (isPassing(error)) return onLine('... the rest was cut off: the server cannot be reached');
        if (!isNotFound(error)) throw error;
      });
    },
  });
  for await (const operation of watchObject(apps.operations, { name, uid })) {
    if (last === undefined) writeHead(operation);
    last = operation;
    steps.see(operation.status?.steps ?? []);
    const { state = 'pending' } = operation.status ?? {};
    if (!finalOperationStates.has(state) && state !== 'needs_intervention') continue;
    await steps.ended();
    writeErrors(operation);
    writeHead(operation);
    return state === 'succeeded' ? 0 : 1;
  }
  throw new Failure('unexpected', `the operation ${name} was deleted.`);
}

function pathOf(
  { namespace }: Apps,
  { metadata }: AppOperation,
  { step, tail }: { readonly step: AppStep; readonly tail: string },
): string {
  const { group, version, resource } = appOperationKind;
  const query = new URLSearchParams({ step: step.id, tailLines: tail });
  return `/apis/${group}/${version}/namespaces/${namespace}/${resource}/${metadata.name}/log?${query.toString()}`;
}

/** Empty for a step without output, and for one whose output is a secret or is not kept. */
async function outputOf({ client }: Apps, path: string): Promise<string> {
  return (await ignoring(client.raw({ method: 'GET', path }), isNotFound))?.text ?? '';
}
