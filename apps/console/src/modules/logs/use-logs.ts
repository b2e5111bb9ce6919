import { followLines, isNotFound } from '@capstan/client/browser';
import { useEffect, useRef, useState } from 'react';
import { clientUnder } from '../kube/client.ts';
import { messageOf } from '../toasts/toasts.ts';
import { LogBuffer, type LogLine } from './log-buffer.ts';

export interface LogSource {
  readonly workspace: string;
  readonly namespace: string;
  readonly pod: string;
  readonly container: string;
  /** The output before the last restart. */
  readonly previous: boolean;
  /** Begins anew when it changes, such as with another start of the unit. */
  readonly run: string;
}

export type LogState =
  | { readonly state: 'loading' }
  | { readonly state: 'error'; readonly message: string; readonly isMissing: boolean }
  | { readonly state: 'content'; readonly lines: readonly LogLine[]; readonly dropped: number; readonly isEnded: boolean };

/** Lines that come at the same time are shown together, once for each frame. */
const frame = 80;
const firstLines = 5000;
const silence = 24 * 3_600_000;

/** Reads an output and follows it until the component goes. */
export function useLogs({ workspace, namespace, pod, container, previous, run }: LogSource): LogState {
  const [state, setState] = useState<LogState>({ state: 'loading' });
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another run has another output.
  useEffect(() => {
    const stop = new AbortController();
    const buffer = new LogBuffer();
    let waiting: string[] = [];
    let isEnded = false;
    setState({ state: 'loading' });
    const show = (): void => {
      timer.current = undefined;
      buffer.append(waiting);
      waiting = [];
      setState({ state: 'content', lines: buffer.lines(), dropped: buffer.dropped, isEnded });
    };
    const soon = (): void => void (timer.current ??= setTimeout(show, frame));
    const query = new URLSearchParams({
      container,
      timestamps: 'true',
      tailLines: String(firstLines),
      ...(previous ? { previous: 'true' } : { follow: 'true' }),
    });
    const path = `/clusters/${workspace}/api/v1/namespaces/${namespace}/pods/${pod}/log?${query}`;
    followLines(clientUnder('/kube'), {
      path,
      idle: silence,
      signal: stop.signal,
      onOpen: soon,
      onLine: (line) => {
        waiting.push(line);
        soon();
      },
    }).then(
      () => {
        isEnded = true;
        soon();
      },
      (error: unknown) => {
        if (!stop.signal.aborted) setState({ state: 'error', message: messageOf(error), isMissing: isNotFound(error) });
      },
    );
    return () => {
      stop.abort();
      clearTimeout(timer.current);
      timer.current = undefined;
    };
  }, [workspace, namespace, pod, container, previous, run]);
  return state;
}
