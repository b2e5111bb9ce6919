import type { ChildProcess } from 'node:child_process';
import { defaultSilence, Silence, type SilenceLimits, usageOf } from './silence.ts';

/** Sent by the supervisor to a process of this program, which sends it back. */
export interface PingMessage {
  readonly type: 'ping';
}

/**
 * Asks a process for an answer again and again, and calls `onHang` once if it hangs. It asks over the channel between the two: over HTTP, a
 * flood of connections would look like a hang, and a restart would help those who flood.
 */
export function watchLiveness(
  child: ChildProcess,
  { limits = defaultSilence, onHang }: { readonly limits?: SilenceLimits | undefined; readonly onHang: (silent: number) => void },
): Disposable {
  const silence = new Silence(limits);
  let hasAnswered = true;
  let lookedAt = performance.now();
  const onMessage = (message: { readonly type?: string }): void => {
    if (message.type === 'ping') hasAnswered = true;
  };
  child.on('message', onMessage);
  const look = (): void => {
    const now = performance.now();
    const hung = silence.look({ elapsed: now - lookedAt, hasAnswered, usage: usageOf(child.pid!) });
    lookedAt = now;
    if (hung !== undefined) {
      clearInterval(timer);
      return onHang(hung);
    }
    if (!hasAnswered || !child.connected) return;
    hasAnswered = false;
    child.send({ type: 'ping' } satisfies PingMessage, () => {});
  };
  const timer = setInterval(look, limits.interval).unref();
  return {
    [Symbol.dispose]: () => {
      clearInterval(timer);
      child.off('message', onMessage);
    },
  };
}

/** Answers the supervisor, if there is one. */
export function answerSupervisor(): void {
  process.on('message', (message: { readonly type?: string }) => {
    if (message.type === 'ping') process.send?.(message, () => {});
  });
}
