import { randomUUID } from 'node:crypto';
import { open, readFile, rename } from 'node:fs/promises';
import { join } from 'node:path';
import type { RoomState } from '../driver.ts';
import type { BoxGroups } from './cgroups.ts';

/** Files beside the log of one start, each written once. */
interface Contents {
  /** The folder of its layer is about to get a size. */
  readonly layer: { readonly point: string; readonly volumes: readonly string[] };
  /** The program has started. */
  readonly started: {
    readonly pid: number;
    readonly startedAt: string;
    readonly container: string;
    readonly allocation: string;
    readonly groups?: BoxGroups;
  };
  /** It has ended. */
  readonly exit: Extract<RoomState, { phase: 'exited' }>;
}

export async function readRecord<N extends keyof Contents>(folder: string, name: N): Promise<Contents[N] | undefined> {
  const text = await readFile(join(folder, name), 'utf8').catch(() => undefined);
  return text === undefined ? undefined : (JSON.parse(text) as Contents[N]);
}

/** Readers see all of it or nothing, also after the machine has crashed. */
export async function writeRecord<N extends keyof Contents>(folder: string, name: N, content: Contents[N]): Promise<void> {
  const draft = join(folder, `${name}.${randomUUID()}`);
  const file = await open(draft, 'w', 0o600);
  try {
    await file.writeFile(JSON.stringify(content));
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(draft, join(folder, name));
}
