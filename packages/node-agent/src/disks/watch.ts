import { freeSpace, NoSpace } from './space.ts';

export interface WatchedDisk {
  /** A folder on the disk. */
  readonly folder: string;
  readonly spare: (disk: number) => number;
  /** In milliseconds, between two looks. */
  readonly interval?: number;
}

/** Does work that may use much of a disk, and aborts it before it uses what must stay free. Rejects with NoSpace then. */
export async function whileSpace<T>(
  { folder, spare, interval = 500 }: WatchedDisk,
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const full = new AbortController();
  const look = async (): Promise<void> => {
    // A disk that cannot be looked at is not known to be full.
    if ((await freeSpace(folder, spare).catch(() => 1)) === 0) full.abort(new NoSpace(1, 0, 'images'));
  };
  await look();
  full.signal.throwIfAborted();
  const timer = setInterval(() => void look(), interval);
  try {
    return await work(AbortSignal.any([signal, full.signal]));
  } catch (error) {
    if (!signal.aborted) full.signal.throwIfAborted();
    throw error;
  } finally {
    clearInterval(timer);
  }
}
