import type { GPUUnit, UnitMember } from '@capstan/api';

const finalPhases: ReadonlySet<string> = new Set(['Stopped', 'Succeeded', 'Failed']);

export const phaseOf = ({ metadata, status }: GPUUnit): string =>
  metadata.deletionTimestamp === undefined ? (status?.phase ?? 'Pending') : 'Deleting';

/** Whether nothing of it runs, or will run unless it is started again. */
export const isOver = (unit: GPUUnit): boolean => finalPhases.has(unit.status?.phase ?? '') && isCurrent(unit);

/** Whether the status describes the spec as it is. */
function isCurrent({ metadata, status }: GPUUnit): boolean {
  return status?.observedGeneration === undefined || status.observedGeneration >= ((metadata['generation'] as number | undefined) ?? 0);
}

export const membersOf = ({ status }: GPUUnit): readonly UnitMember[] => status?.members ?? [];

/** Why it is not running yet, in a few words that begin with what happens. */
export function progressOf(unit: GPUUnit): string {
  const { status } = unit;
  const members = membersOf(unit);
  const nodes = members.map(({ node }) => node).join(', ');
  switch (phaseOf(unit)) {
    case 'Pending':
      return status?.message === undefined || status.message === '' ? 'Waiting to be placed' : `Waiting: ${status.message}`;
    case 'Starting': {
      const step = members.map((member) => member.step).find((text) => text !== undefined && text !== '');
      return step === undefined ? `Starting on ${nodes === '' ? 'a node' : nodes}` : `Starting on ${nodes}: ${step}`;
    }
    case 'Running':
      return `Running on ${nodes}`;
    case 'Unknown':
      return `Its node is silent${status?.message === undefined ? '' : `: ${status.message}`}`;
    default:
      return `${phaseOf(unit)}${status?.message === undefined ? '' : `: ${status.message}`}`;
  }
}

/** How it ended, for people; undefined if it simply succeeded. */
export function outcomeOf(unit: GPUUnit): string | undefined {
  const { status } = unit;
  if (status?.phase === 'Succeeded') return undefined;
  const failed = membersOf(unit).find(({ reason }) => reason !== undefined && reason !== 'Completed');
  const reason = failed?.reason === undefined ? '' : ` (${failed.reason})`;
  const message = status?.message ?? failed?.message;
  return `${status?.phase ?? 'Pending'}${reason}${message === undefined || message === '' ? '' : `: ${message}`}`;
}

/** The last lines of a program whose log is gone. */
export const lastLinesOf = (unit: GPUUnit): readonly string[] => membersOf(unit)[0]?.lastLines ?? [];
