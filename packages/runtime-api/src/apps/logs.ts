import type { AppOperation, AppStep } from '@capstan/api';
import { isNotFound, type List } from '@capstan/client';
import { ignoring } from '@capstan/controller';
import { wholeNumber } from '../http/parameters.ts';
import { Problem } from '../problems/problem.ts';
import { placeOf } from '../resources/place.ts';
import { appOperations } from '../resources/table.ts';
import type { Call, Reply } from '../routes/call.ts';
import { instanceOf } from './instance.ts';

export const mostLines = 1000;
export const defaultLines = 100;
/** In characters: the output of the steps behind this is left out. */
const largestText = 1 << 20;
/** How many outputs are read at the same time. */
const atOnce = 8;

/** `GET …/{id}/logs`: the steps of an operation, stage by stage, each with the end of its output. Works for instances that are gone, as long as their operations are kept. */
export async function readLogs(call: Call): Promise<Reply> {
  const { query } = call;
  const tail = wholeNumber(query, 'tail', { to: mostLines }) ?? defaultLines;
  const { collection } = await placeOf(appOperations, call);
  const operation = await operationIn(call, collection);
  const body =
    operation === undefined
      ? ''
      : await textOf(operation, { tail, read: (step) => outputOf(call, `${collection}/${operation.metadata.name}`, { step, tail }) });
  return {
    status: 200,
    body,
    headers: { 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' },
  };
}

/** The operation that the request names, or the last one of the instance. */
async function operationIn(call: Call, collection: string): Promise<AppOperation | undefined> {
  const { items } = await call.upstream.json<List<AppOperation>>({ method: 'GET', path: collection, authorization: call.authorization });
  const instance = call.parameters['id']!;
  const own = items.filter(({ spec }) => spec.instance === instance && !spec.dryRun);
  // An instance that never was has no operations either.
  if (own.length === 0) await instanceOf(call);
  const name = call.query.get('operation') ?? '';
  if (name === '') return own.toSorted(byAge).at(-1);
  const found = own.find(({ metadata }) => metadata.name === name);
  if (found === undefined) throw new Problem('not_found', `The instance ${instance} has no operation of this name.`);
  return found;
}

const began = ({ metadata }: AppOperation): string => metadata.creationTimestamp ?? '';

function byAge(one: AppOperation, other: AppOperation): number {
  return (one.status?.sequence ?? 0) - (other.status?.sequence ?? 0) || (began(one) < began(other) ? -1 : 1);
}

interface Reading {
  readonly tail: number;
  readonly read: (step: AppStep) => Promise<string>;
}

async function textOf({ metadata, spec, status }: AppOperation, { tail, read }: Reading): Promise<string> {
  const errors = new Map((status?.errors ?? []).map((error) => [error.step ?? '', error]));
  const outputOf = async (step: AppStep): Promise<string> => {
    // The platform has kept the output of a step that failed, also if the log of its node has gone.
    const kept = step.state === 'failed' ? errors.get(step.id)?.output : undefined;
    if (tail === 0) return '';
    return kept === undefined ? read(step) : lastLines(kept, tail);
  };
  const steps = (status?.steps ?? []).toSorted((one, other) => one.stage - other.stage);
  let text = `${metadata.name}, ${spec.type}: ${status?.state ?? 'pending'}\n`;
  for (let begin = 0; begin < steps.length; begin += atOnce) {
    const some = steps.slice(begin, begin + atOnce);
    const outputs = await Promise.all(some.map(outputOf));
    for (const [index, step] of some.entries()) text += stepText(step, outputs[index]!);
    if (text.length > largestText) return `${text.slice(0, largestText)}\n... the rest is left out: ask for fewer lines with ?tail=\n`;
  }
  return text;
}

function stepText({ title, member, state, message }: AppStep, output: string): string {
  const place = member === undefined ? '' : ` (${member})`;
  const head = `==> ${title}${place}: ${state}${message === undefined ? '' : `, ${message}`}\n`;
  return `\n${head}${output}${output === '' || output.endsWith('\n') ? '' : '\n'}`;
}

function lastLines(text: string, count: number): string {
  return text.replace(/\n$/, '').split('\n').slice(-count).join('\n');
}

/** Empty for a step without output, and for one whose output is a secret or is not kept. */
async function outputOf(
  { upstream, authorization }: Call,
  operation: string,
  { step, tail }: { readonly step: AppStep; readonly tail: number },
): Promise<string> {
  if (step.node === undefined || step.task === undefined) return '';
  const query = new URLSearchParams({ step: step.id, tailLines: String(tail) });
  const path = `${operation}/log?${query.toString()}`;
  return (await ignoring(upstream.text({ method: 'GET', path, authorization }), isNotFound)) ?? '';
}
