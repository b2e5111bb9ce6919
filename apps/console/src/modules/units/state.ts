import type { Condition, GPUUnit, UnitMember } from '@capstan/api';
import type { Tone } from '../../components/status.tsx';
import { cleanLine } from '../logs/clean-line.ts';

/** A unit as people see it. */
export interface UnitState {
  readonly tone: Tone;
  readonly word: string;
  /** Why it is so, in one sentence; empty if there is nothing to say. */
  readonly reason: string;
}

const tones: Readonly<Record<string, Tone>> = {
  Pending: 'warn',
  Starting: 'busy',
  Running: 'good',
  Stopping: 'busy',
  Stopped: 'idle',
  Succeeded: 'idle',
  Failed: 'bad',
  Unknown: 'warn',
};

export const conditionOf = (unit: GPUUnit, type: string): Condition | undefined =>
  (unit.status?.conditions ?? []).find((condition) => condition.type === type);

export const membersOf = ({ status }: GPUUnit): readonly UnitMember[] => status?.members ?? [];

export const nodesOf = (unit: GPUUnit): string => [...new Set(membersOf(unit).map(({ node }) => node))].join(', ');

/** Whether the status describes the spec as it is. */
function isCurrent({ metadata, status }: GPUUnit): boolean {
  return status?.observedGeneration === undefined || status.observedGeneration >= (metadata.generation ?? 0);
}

export function stateOf(unit: GPUUnit): UnitState {
  const { phase = 'Pending', message = '' } = unit.status ?? {};
  if (unit.metadata.deletionTimestamp !== undefined) return { tone: 'busy', word: 'Deleting', reason: message };
  if (phase === 'Running' && isDegraded(unit))
    return { tone: 'warn', word: 'Not ready', reason: conditionOf(unit, 'Ready')?.message || 'its probe does not succeed' };
  if (phase === 'Running' && !unit.spec.running && isCurrent(unit)) return { tone: 'busy', word: 'Stopping', reason: message };
  const step = membersOf(unit).find((member) => member.step !== undefined)?.step;
  const reason = phase === 'Starting' && step !== undefined ? step : message;
  return { tone: tones[phase] ?? 'idle', word: phase, reason };
}

function isDegraded(unit: GPUUnit): boolean {
  return conditionOf(unit, 'Ready')?.status === 'False';
}

const overPhases: ReadonlySet<string> = new Set(['Stopped', 'Succeeded', 'Failed']);

/** Whether nothing of it runs, or will run unless it is started again. */
export const isOver = (unit: GPUUnit): boolean => overPhases.has(unit.status?.phase ?? '') && isCurrent(unit);

/** Whether its program runs somewhere, so that a shell can be opened in it. */
export const isRunning = (unit: GPUUnit): boolean => unit.status?.phase === 'Running' && unit.metadata.deletionTimestamp === undefined;

/** The resources that it asks for, in few words. */
export function askedFor({ spec }: GPUUnit): string {
  const nodes = spec.nodes > 1 ? `${spec.nodes} × ` : '';
  if (spec.offering !== undefined) return nodes + spec.offering;
  const { gpu, cpu, memory } = spec.resources ?? {};
  const parts = [
    gpu === undefined ? undefined : `${gpu.count ?? 1} ${gpu.model ?? 'GPU'}`,
    cpu === undefined ? undefined : `${cpu} cpu`,
    memory === undefined ? undefined : `${memory}`,
  ];
  return nodes + parts.filter((part) => part !== undefined).join(', ');
}

/** The program as people would type it. */
export function programOf({ spec }: GPUUnit): string {
  return [...(spec.image === undefined ? [] : [spec.image]), ...(spec.command ?? []), ...(spec.args ?? [])].map(quoted).join(' ');
}

const quoted = (word: string): string => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`);

/** The end of the output of a program that has ended, as plain text. */
export const lastLinesOf = (unit: GPUUnit): readonly string[] => membersOf(unit).flatMap(({ lastLines = [] }) => lastLines.map(cleanLine));
