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
  const kept =
    output === undefined || output === ''
      ? []
      : output
          .trimEnd()
          .split('\n')
          .map((line) => `    | ${printable(line)}`);
  return [
    `${code}${place === '' ? '' : ` (${printable(place)})`}: ${printable(message)}`,
    ...(hints === '' ? [] : [`    ${hints}`]),
    ...(task === undefined ? [] : [`    task ${printable(task)}`]),
    ...kept,
  ];
}

/** The commands by which a person goes on. */
export function nextActions({ metadata, status }: AppInstance): string[] {
  return (status?.allowedActions ?? []).map(({ action, member, title }) => {
    const command = `capstan app do ${metadata.name} ${action}${member === undefined ? '' : ` --member ${member}`}`;
    return `${command}   ${printable(title)}`;
  });
}

/** The steps of a plan, stage by stage. */
export function stepLines(steps: readonly AppStep[]): string[] {
  return steps
    .toSorted((one, other) => one.stage - other.stage)
    .map(({ stage, title, member, state, message }) => {
      const rest = [state === 'pending' ? undefined : state, message].filter(Boolean).join(', ');
      return `${String(stage).padStart(3)}  ${printable(title)}${member === undefined ? '' : ` [${member}]`}${rest === '' ? '' : ` (${printable(rest)})`}`;
    });
}
