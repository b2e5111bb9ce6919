import { type AppError, type AppInstance, type AppOperation, type AppStep, finalOperationStates } from '@capstan/api';
import { humanDuration } from '@capstan/machinery';
import { printable } from '../units/words.ts';

export const since = (time: string | null | undefined): string | undefined =>
  time ? humanDuration(Date.now() - Date.parse(time)) : undefined;

/** One line on how an instance is. */
export function progressLine({ metadata, status }: AppInstance): string {
  const { state = 'pending', phase, progress, message, lastOperation } = status ?? {};
  const what = metadata.deletionTimestamp === undefined ? state : 'removing';
  const counted = progress === undefined || progress.total === 0 ? '' : ` ${progress.completed}/${progress.total}`;
  const step = lastOperation !== undefined && !finalOperationStates.has(lastOperation.state) ? lastOperation.step : undefined;
  return printable([`${what}${counted}`, phase, step, message].filter((one) => one !== undefined && one !== '').join(', '));
}

/** One line on how an operation is. */
export function operationLine({ spec, status }: AppOperation): string {
  const { state = 'pending', step, message, progress } = status ?? {};
  const counted = progress === undefined || progress.total === 0 ? '' : ` ${progress.completed}/${progress.total}`;
  return printable([`${spec.type}: ${state}${counted}`, step, message].filter((one) => one !== undefined && one !== '').join(', '));
}

/** A problem with its place and the end of its output. */
export function errorLines({ code, message, member, step, task, output, userFixable, retryable }: AppError): string[] {
  const place = [member, step].filter(Boolean).join(', ');
  const hints = [userFixable && 'you can fix this', retryable && 'trying again may help'].filter(Boolean).join('; ');
  return [
    `${code}${place === '' ? '' : ` (${printable(place)})`}: ${printable(message)}`,
    ...(hints === '' ? [] : [`    ${hints}`]),
    ...(task === undefined ? [] : [`    task ${printable(task)}`]),
    ...outputLines(output ?? ''),
  ];
}

/** Output of a step, below its line. */
export function outputLines(output: string): string[] {
  const text = output.trimEnd();
  return text === '' ? [] : text.split('\n').map((line) => `    | ${printable(line)}`);
}

/** The commands by which a person goes on. */
export function nextActions({ metadata, status }: AppInstance): string[] {
  return (status?.allowedActions ?? []).map(({ action, member, title }) => {
    const command = `capstan app do ${metadata.name} ${action}${member === undefined ? '' : ` --member ${member}`}`;
    return `${command}   ${printable(title)}`;
  });
}

/** The steps of a plan, stage by stage. `nodes` has the node of each member: titles that name it need no member beside them. */
export function stepLines(steps: readonly AppStep[], nodes: ReadonlyMap<string, string> = new Map()): string[] {
  return steps
    .toSorted((one, other) => one.stage - other.stage)
    .map(({ stage, title, member, state, message }) => {
      const rest = [state === 'pending' ? undefined : state, message].filter(Boolean).join(', ');
      const isNamed = member === undefined || [member, nodes.get(member)].some((name) => name !== undefined && names(title, name));
      return `${String(stage).padStart(3)}  ${printable(title)}${isNamed ? '' : ` [${member}]`}${rest === '' ? '' : ` (${printable(rest)})`}`;
    });
}

/** Whether a text has a name, and not only as a part of a longer one. */
const names = (text: string, name: string): boolean => text.split(/[^a-z0-9.-]+/i).some((one) => one.replace(/[.-]+$/, '') === name);

/** A line on what an app says about itself, which the platform has not seen. */
export function reportLine({ status }: AppInstance): string | undefined {
  if (status?.reported === undefined) return undefined;
  const { phase, progress, message, source, reportedAt } = status.reported;
  const counted = progress === undefined ? '' : ` ${progress.completed}/${progress.total}`;
  return printable(`${phase}${counted}${message === undefined ? '' : `, ${message}`} (by ${source}, ${since(reportedAt) ?? '?'} ago)`);
}
