import { setTimeout as sleep } from 'node:timers/promises';
import { type Client, followLines } from '@capstan/client';
import { Backoff, type ObjectMeta } from '@capstan/machinery';

/** A change of an object of any kind in any workspace. */
export interface JournalEntry {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly cluster: string;
  readonly resource: string;
  readonly kind: string;
  readonly apiVersion: string;
  /** Only the identity, the owners and the finalizers of the object. */
  readonly metadata: ObjectMeta & { readonly uid: string };
}

export interface JournalReader {
  /** A new reading begins, which lists every object again. */
  readonly begins: () => void;
  readonly entry: (entry: JournalEntry) => void;
  /** Every object was listed, so any other is gone. Changes follow. */
  readonly synced: () => void;
  readonly failed: (error: unknown) => void;
}

/** In milliseconds. The server sends a heartbeat every twenty seconds. */
const idle = 60_000;

/** Follows the changes in all workspaces until the signal. After an interruption it starts a new reading. */
export async function followJournal(client: Client, reader: JournalReader, signal: AbortSignal): Promise<void> {
  const backoff = new Backoff({ base: 200, max: 10_000, random: Math.random });
  while (!signal.aborted) {
    try {
      const synced = (): void => {
        backoff.reset();
        reader.synced();
      };
      await read(client, { ...reader, synced }, signal);
    } catch (error) {
      if (signal.aborted) return;
      reader.failed(error);
    }
    await sleep(backoff.next(), undefined, { signal }).catch(() => {});
  }
}

function read(client: Client, reader: JournalReader, signal: AbortSignal): Promise<void> {
  return followLines(client, {
    path: '/capstan/journal',
    idle,
    signal,
    onOpen: reader.begins,
    onLine: (line) => {
      const entry = JSON.parse(line) as JournalEntry | { readonly type: 'SYNCED' };
      if (entry.type === 'SYNCED') reader.synced();
      else reader.entry(entry);
    },
  });
}
