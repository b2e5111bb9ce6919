/** Programs such as `timeout` and npm pass on a signal that the terminal has sent to this process already, in milliseconds. */
const sameKey = 300;

/** Calls back when the user wants to stop: once politely, and again if that takes too long. Until it is disposed, Ctrl-C does not end this process. */
export function onInterrupt(first: () => void, again: () => void): Disposable {
  let firstAt: number | undefined;
  const onSignal = (): void => {
    const now = performance.now();
    if (firstAt === undefined) {
      firstAt = now;
      first();
    } else if (now - firstAt > sameKey) again();
  };
  process.on('SIGINT', onSignal).on('SIGTERM', onSignal);
  return { [Symbol.dispose]: () => void process.off('SIGINT', onSignal).off('SIGTERM', onSignal) };
}

/** Of a process that was ended by Ctrl-C, as shells count. */
export const interrupted = 130;
