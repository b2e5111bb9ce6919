import { missingProgram, runProgram } from './programs.ts';

/** Copies everything in a folder into another one. Shares blocks where the file system can. Limits of the other folder hold. */
export async function copyFiles(source: string, target: string, signal: AbortSignal): Promise<void> {
  const words = ['cp', '--archive', '--reflink=auto', '--one-file-system', `${source}/.`, target];
  const [program = '', ...args] = [...(await withinQuotas()), ...words];
  await runProgram(program, args, { signal });
}

/** Programs with this right may exceed the quotas of ext4. */
async function withinQuotas(): Promise<string[]> {
  if (process.getuid?.() !== 0 || (await missingProgram(['setpriv'])) !== undefined) return [];
  return ['setpriv', '--bounding-set=-sys_resource'];
}
