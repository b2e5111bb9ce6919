import { type Client, deferred } from '@capstan/client';
import { keepRunning } from '../manager/keep-running.ts';
import type { ControllerContext, Runnable } from '../manager/runnable.ts';
import type { Endpoints } from './endpoints.ts';

interface Running {
  readonly client: Client;
  readonly stop: AbortController;
  readonly ended: Promise<void>;
}

/**
 * Runs a controller at every endpoint, each with its own queue and workers: one that fails or hangs does not slow down the others. It starts at an
 * endpoint when that appears, and ends when that disappears.
 */
export function acrossEndpoints(endpoints: Endpoints, runnable: Runnable): Runnable {
  return {
    name: runnable.name,
    async run(context) {
      const running = new Map<string, Running>();
      const everything = new Set<Promise<void>>();
      const update = (clients: ReadonlyMap<string, Client>): void => {
        for (const [url, one] of running) {
          if (clients.get(url) === one.client) continue;
          one.stop.abort();
          running.delete(url);
        }
        for (const [url, client] of clients) {
          if (running.has(url) || context.signal.aborted) continue;
          const stop = new AbortController();
          const ended = runThere(runnable, context, { url, client, stop: stop.signal }).finally(() => everything.delete(ended));
          everything.add(ended);
          running.set(url, { client, stop, ended });
        }
      };
      endpoints.follow(update, context.signal);
      await aborted(context.signal);
      while (everything.size > 0) await Promise.all(everything);
    },
  };
}

async function runThere(
  runnable: Runnable,
  context: ControllerContext,
  { url, client, stop }: { readonly url: string; readonly client: Client; readonly stop: AbortSignal },
): Promise<void> {
  await using there = context.at(client);
  const signal = AbortSignal.any([context.signal, stop]);
  await keepRunning(
    runnable,
    { ...there, signal },
    {
      onFailure: (error, wait) =>
        context.log(`${url}: ${error instanceof Error ? error.message : String(error)}; starts again there in ${Math.ceil(wait / 1000)} s`),
    },
  );
}

async function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  const { promise, resolve } = deferred<void>();
  signal.addEventListener('abort', () => resolve(), { once: true });
  await promise;
}
