import type { GPUUnit, UnitMember } from '@capstan/api';

const finalPhases: ReadonlySet<string> = new Set(['Stopped', 'Succeeded', 'Failed']);

export const phaseOf = ({ metadata, status }: GPUUnit): string =>
  metadata.deletionTimestamp === undefined ? (status?.phase ?? 'Pending') : 'Deleting';

/** Whether nothing of it runs, or will run unless it is started again. */
export const isOver = (unit: GPUUnit): boolean => finalPhases.has(unit.status?.phase ?? '') && isCurrent(unit);

/** Which start of which run of its program it is: another one has a log of its own. */
export const startOf = ({ status }: GPUUnit): string => `${status?.run ?? 0} ${status?.restarts ?? 0}`;

/** Whether its program has run, or nothing of it will. */
export const hasBegun = (unit: GPUUnit): boolean => isOver(unit) || phaseOf(unit) === 'Running' || (unit.status?.restarts ?? 0) > 0;

/** Whether the status describes the spec as it is. */
function isCurrent({ metadata, status }: GPUUnit): boolean {
  return status?.observedGeneration === undefined || status.observedGeneration >= ((metadata['generation'] as number | undefined) ?? 0);
}

export const membersOf = ({ status }: GPUUnit): readonly UnitMember[] => status?.members ?? [];

/** Why it is not running yet, in a few words that begin with what happens. */
export function progressOf(unit: GPUUnit): string {
  const nodes = membersOf(unit)
    .map(({ node }) => node)
    .join(', ');
  const message = unit.status?.message ?? '';
  switch (phaseOf(unit)) {
    case 'Pending':
      return message === '' ? 'Waiting to be placed' : `Waiting: ${message.replace(/^waits /, '')}`;
    case 'Starting':
      return message === '' || message.startsWith('starts on') ? `Starting on ${nodes}` : `Starting on ${nodes}: ${message}`;
    case 'Running':
      return `Running on ${nodes}`;
    case 'Stopping':
      return `Stopping${message === '' ? '' : `: ${message.replace(/^stops: /, '')}`}`;
    case 'Unknown':
      return `Its node is silent${message === '' ? '' : `: ${message}`}`;
    default:
      return withMessage(phaseOf(unit), message);
  }
}

/** How it ended, for people; undefined if it simply succeeded. */
export function outcomeOf(unit: GPUUnit): string | undefined {
  const { phase = 'Pending', message } = unit.status ?? {};
  if (phase === 'Succeeded') return undefined;
  const failed = membersOf(unit).find(({ reason }) => reason !== undefined && reason !== 'Completed');
  const reason = failed?.reason === undefined || failed.reason === phase || failed.reason === 'Error' ? '' : ` (${failed.reason})`;
  return withMessage(`${phase}${reason}`, message ?? failed?.message ?? '');
}

/** Without a message that says the same again. */
const withMessage = (phase: string, message: string): string =>
  message === '' || message.toLowerCase() === phase.toLowerCase() ? phase : `${phase}: ${message}`;

/** The last lines of a program whose log is gone. */
export const lastLinesOf = (unit: GPUUnit): readonly string[] => membersOf(unit)[0]?.lastLines ?? [];
