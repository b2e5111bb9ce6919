import { useEffect, useRef, useState } from 'react';
import { messageOf, toast } from '../toasts/toasts.ts';
import { shownName } from './listing.ts';

/** A file on its way. */
export interface Transfer {
  readonly shown: string;
  readonly done: number;
  readonly total: number | undefined;
}

export interface TransferTask {
  readonly name: string;
  readonly total: number | undefined;
  readonly run: (watched: { readonly onProgress: (bytes: number) => void; readonly signal: AbortSignal }) => Promise<void>;
}

/** Runs transfers one after the other, and says how each went. Leaving the page ends them. */
export function useTransfers() {
  const [current, setCurrent] = useState<Transfer>();
  const stop = useRef<AbortController>(undefined);
  useEffect(() => () => stop.current?.abort(), []);
  const start = async (tasks: readonly TransferTask[]): Promise<void> => {
    const { signal } = (stop.current = new AbortController());
    for (const { name, total, run } of tasks) {
      const shown = shownName(name);
      setCurrent({ shown, done: 0, total });
      try {
        await run({ signal, onProgress: (done) => setCurrent({ shown, done, total }) });
      } catch (error) {
        if (!signal.aborted) toast('bad', `${shown}: ${shownName(messageOf(error))}`);
      }
      if (signal.aborted) break;
    }
    setCurrent(undefined);
  };
  return { current, start, cancel: () => stop.current?.abort() };
}
