import { Manager, type ManagerOptions, type Runnable } from '@capstan/controller';

/** Runs controllers until they are disposed, which does not wait for running work. */
export function runControllers(options: Pick<ManagerOptions, 'client' | 'log'>, controllers: Iterable<Runnable>): AsyncDisposable {
  const stop = new AbortController();
  const manager = new Manager({ ...options, stopWithin: 1 });
  for (const one of controllers) manager.add(one);
  const running = manager.run(stop.signal);
  return {
    async [Symbol.asyncDispose]() {
      stop.abort();
      await running;
    },
  };
}
