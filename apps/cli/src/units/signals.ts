/** Calls back when the user wants to stop: once politely, and again if that takes too long. Until it is disposed, Ctrl-C does not end this process. */
export function onInterrupt(first: () => void, again: () => void): Disposable {
  let isFirst = true;
  const onSignal = (): void => {
    if (isFirst) first();
    else again();
    isFirst = false;
  };
  process.on('SIGINT', onSignal).on('SIGTERM', onSignal);
  return { [Symbol.dispose]: () => void process.off('SIGINT', onSignal).off('SIGTERM', onSignal) };
}

/** Of a process that was ended by Ctrl-C, as shells count. */
export const interrupted = 130;
