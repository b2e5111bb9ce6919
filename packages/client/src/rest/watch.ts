import type { KubeObject, Status } from '@capstan/machinery/objects';
import { LineSplitter, readText } from './body.ts';
import { deferred } from './deferred.ts';
import { ApiError, ConnectionError } from './error.ts';
import type { WatchEvent } from './options.ts';
import type { Outgoing, Transport } from './transport.ts';

/** Bookmarks arrive every minute, or every two from a server with many watches; longer silence means a dead connection. */
export const defaultIdleTimeout = 150_000;

interface Frame {
  readonly type: string;
  readonly object: KubeObject;
}

export interface WatchCall<T extends KubeObject> {
  readonly outgoing: Outgoing;
  readonly idle: number;
  /** Called once the server has accepted the watch. */
  readonly onOpen?: () => void;
  readonly onEvent: (event: WatchEvent<T>) => void;
  /** Called between events; the promise that it returns is awaited before more is read. */
  readonly onPause?: () => Promise<void> | undefined;
}

/** Follows a watch until the server ends it. An error event, or an exception from `onEvent`, ends it with that error. */
export async function followWatch<T extends KubeObject>(transport: Transport, call: WatchCall<T>): Promise<void> {
  const answer = await transport.send({ ...call.outgoing, dedicated: true });
  if (answer.code !== 200) throw ApiError.of(answer.code, await readText(answer, call.idle), answer.header('retry-after'));
  call.onOpen?.();
  let failure: { readonly error: unknown } | undefined;
  const lines = new LineSplitter((line) => {
    if (failure !== undefined) return;
    try {
      call.onEvent(readFrame<T>(line));
    } catch (error) {
      failure = { error };
      answer.destroy();
    }
  });
  try {
    await answer.read(call.idle, (text) => {
      lines.push(text);
      return call.onPause?.();
    });
  } catch (error) {
    if (failure === undefined) throw error;
  }
  if (failure !== undefined) throw failure.error;
}

function readFrame<T extends KubeObject>(line: string): WatchEvent<T> {
  const frame = JSON.parse(line) as Frame;
  switch (frame.type) {
    case 'ADDED':
    case 'MODIFIED':
    case 'DELETED':
      return frame as WatchEvent<T>;
    case 'BOOKMARK':
      return frame as WatchEvent<T>;
    case 'ERROR': {
      const told = frame.object as unknown as Status;
      throw new ApiError(told, { code: told.code ?? 500 });
    }
    default:
      throw new ConnectionError('failed', `a watch sent an event of the unknown type "${frame.type}"`);
  }
}

/** The events of a watch, one by one. Reading pauses while nobody asks for more; leaving the loop ends the watch. */
export async function* iterateWatch<T extends KubeObject>(
  transport: Transport,
  call: Omit<WatchCall<T>, 'onEvent' | 'onPause' | 'onOpen'>,
): AsyncGenerator<WatchEvent<T>, void, undefined> {
  const stop = new AbortController();
  const signal = call.outgoing.signal ? AbortSignal.any([call.outgoing.signal, stop.signal]) : stop.signal;
  let ready: WatchEvent<T>[] = [];
  let wake = deferred<void>();
  let drained = deferred<void>();
  let end: { readonly error?: unknown } | undefined;
  const running = followWatch<T>(transport, {
    ...call,
    outgoing: { ...call.outgoing, signal },
    onEvent: (event) => {
      ready.push(event);
    },
    onPause: () => {
      if (ready.length === 0) return undefined;
      wake.resolve();
      return drained.promise;
    },
  }).then(
    () => {
      end = {};
      wake.resolve();
    },
    (error: unknown) => {
      end = { error };
      wake.resolve();
    },
  );
  try {
    for (;;) {
      await wake.promise;
      wake = deferred<void>();
      while (ready.length > 0) {
        const batch = ready;
        ready = [];
        yield* batch;
      }
      if (end !== undefined) {
        if ('error' in end && !call.outgoing.signal?.aborted) throw end.error;
        return;
      }
      const release = drained;
      drained = deferred<void>();
      release.resolve();
    }
  } finally {
    stop.abort();
    await running;
  }
}
