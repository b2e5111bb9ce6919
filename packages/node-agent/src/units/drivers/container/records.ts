import { randomUUID } from 'node:crypto';
import { open, readFile, rename } from 'node:fs/promises';
import { join } from 'node:path';
import type { RoomState } from '../driver.ts';
import type { BoxGroups } from './cgroups.ts';

/** A program that has started. */
export interface Started {
  readonly pid: number;
  readonly startedAt: string;
  readonly container: string;
  readonly allocation: string;
  readonly groups?: BoxGroups;
}

/** Files beside the log of one start, each written once. */
interface Contents {
  /** The folder of its layer is about to get a size. */
  readonly layer: { readonly point: string; readonly volumes: readonly string[] };
  readonly started: Started;
  /** The kernel has ended a process of it for its use of memory. */
  readonly ranOut: true;
  /** It has ended. */
  readonly exit: Extract<RoomState, { phase: 'exited' }>;
}

export async function readRecord<N extends keyof Contents>(folder: string, name: N): Promise<Contents[N] | undefined> {
  const text = await readFile(join(folder, name), 'utf8').catch(() => undefined);
  return text === undefined || text === '' ? undefined : (JSON.parse(text) as Contents[N]);
}

/** Readers see all of it or nothing, also after the machine has crashed. Then no program runs any more, so a start need not be on the disk. */
export async function writeRecord<N extends keyof Contents>(folder: string, name: N, content: Contents[N]): Promise<void> {
  const draft = join(folder, `${name}.${randomUUID()}`);
  const file = await open(draft, 'w', 0o600);
  try {
    await file.writeFile(JSON.stringify(content));
    if (name !== 'started') await file.sync();
  } finally {
    await file.close();
  }
  await rename(draft, join(folder, name));
}
