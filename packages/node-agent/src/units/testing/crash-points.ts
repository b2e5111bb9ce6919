import { nodeUnit } from './node-units.ts';

/** Where an agent may die: after a record is written, or after something was done. */
export const crashPoints = [
  'accepted',
  'preparing',
  'starting',
  'recorded',
  'started',
  'ended',
  'restarting',
  'stopping',
  'stopped',
  'removing',
  'removed',
] as const;
export type CrashPoint = (typeof crashPoints)[number];

export const crashingUnit = 'crash-1';

/** A program that counts its starts in a file. It fails at once where its end is tested, and runs for long otherwise; its second start always does. */
export function crashing(point: CrashPoint, marker: string): ReturnType<typeof nodeUnit> {
  const fails = point === 'ended' || point === 'restarting';
  const script = `echo x >> ${marker}; ${fails ? `[ $(wc -l < ${marker}) -gt 1 ] || exit 3; ` : ''}exec sleep 600`;
  return nodeUnit(crashingUnit, { command: ['/bin/sh', '-c', script], restartPolicy: point === 'restarting' ? 'OnFailure' : 'Never' });
}
