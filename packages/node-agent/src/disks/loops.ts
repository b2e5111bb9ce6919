import { access } from 'node:fs/promises';
import { missingProgram } from './programs.ts';

/** Why this agent cannot mount files with file systems, for which it needs these programs. */
export async function whyNoLoops(programs: readonly string[]): Promise<string | undefined> {
  if (process.platform !== 'linux') return 'sizes are limited on Linux only';
  if (process.getuid?.() !== 0) return 'the agent does not run as root';
  const missing = await missingProgram(programs);
  if (missing !== undefined) return `${missing} is missing on the node`;
  return access('/dev/loop-control').then(
    () => undefined,
    () => 'the node has no loop devices: modprobe loop',
  );
}
