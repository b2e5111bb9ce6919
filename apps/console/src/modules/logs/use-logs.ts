import { followLines, isNotFound } from '@capstan/client/browser';
import { Backoff } from '@capstan/machinery/objects';
import { useEffect, useRef, useState } from 'react';
import { clientUnder } from '../kube/client.ts';
import { messageOf } from '../toasts/toasts.ts';
import { LogBuffer, type LogLine } from './log-buffer.ts';

/** An output that the API server serves line by line. */
export interface LogSource {
  /** Where it is. After a time, only the lines since then, unless it is empty. */
  readonly path: (since: string) => string;
  /** Whether more output may come. */
  readonly isRunning: boolean;
  /** Begins anew when it changes, such as with another start of the unit. */
  readonly run: string;
}

export type LogState =
  | { readonly state: 'loading' }
  | { readonly state: 'error'; readonly message: string; readonly isMissing: boolean }
  | { readonly state: 'content'; readonly lines: readonly LogLine[]; readonly dropped: number; readonly isEnded: boolean };

/** In milliseconds: lines that come at the same time are shown together. */
const frame = 80;
const silence = 24 * 3_600_000;

/** In milliseconds: the pause before a stream that was cut begins again, and the longest while there is no output yet. */
const pauses = { base: 2000, max: 30_000 };

/** Reads an output and follows it until the component goes. A stream that is cut while the program runs begins again where it was, or, if its lines have no times, at the beginning. */
export function useLogs(source: LogSource): LogState {
  const { run } = source;
  const [state, setState] = useState<LogState>({ state: 'loading' });
  const latest = useRef(source);
  latest.current = source;
  // biome-ignore lint/correctness/useExhaustiveDependencies: another run has another output.
  useEffect(() => {
    const stop = new AbortController();
    let buffer = new LogBuffer();
    let timer: ReturnType<typeof setTimeout> | undefined;
    let waiting: string[] = [];
    /** The time until which the lines of the present stream are known. */
    let after = '';
    let isOpen = false;
    let isEnded = false;
    setState({ state: 'loading' });
    const show = (): void => {
      timer = undefined;
      buffer.append(waiting, after);
      waiting = [];
      setState({ state: 'content', lines: buffer.lines(), dropped: buffer.dropped, isEnded });
    };
    const soon = (): void => void (timer ??= setTimeout(show, frame));
    const onOpen = (): void => {
      isOpen = true;
      backoff.reset();
      soon();
    };
    const onLine = (line: string): void => {
      waiting.push(line);
      soon();
    };
    const backoff = new Backoff(pauses);
    const read = async (): Promise<void> => {
      while (!stop.signal.aborted) {
        try {
          await followLines(clientUnder('/kube'), {
            path: latest.current.path(after),
            idle: silence,
            signal: stop.signal,
            onOpen,
            onLine,
          });
          if (!latest.current.isRunning) break;
        } catch (error) {
          if (stop.signal.aborted) return;
          if (!isOpen) {
            setState({ state: 'error', message: messageOf(error), isMissing: isNotFound(error) });
            // A program that has just started may have printed nothing that the server knows of.
            if (!isNotFound(error) || !latest.current.isRunning) return;
          }
          if (!latest.current.isRunning) break;
        }
        await new Promise((resolve) => setTimeout(resolve, backoff.next()));
        after = buffer.lastTime;
        if (after === '') buffer = new LogBuffer();
      }
      isEnded = true;
      if (!stop.signal.aborted) soon();
    };
    void read();
    return () => {
      stop.abort();
      clearTimeout(timer);
    };
  }, [run]);
  return state;
}
