import { answerSupervisor } from '../supervise/liveness.ts';

/** Aborted by the first Ctrl-C, SIGTERM or SIGHUP, or when the supervisor dies. A second Ctrl-C ends the process at once. */
export function shutdownSignal(): AbortSignal {
  const controller = new AbortController();
  const stop = (): void => {
    if (controller.signal.aborted) process.exit(130);
    controller.abort();
  };
  process.on('SIGINT', stop);
  process.on('SIGTERM', () => controller.abort());
  process.on('SIGHUP', () => controller.abort());
  process.on('disconnect', () => controller.abort());
  answerSupervisor();
  // Listening on the channel must not keep a process alive that has nothing left to do.
  process.channel?.unref();
  return controller.signal;
}
