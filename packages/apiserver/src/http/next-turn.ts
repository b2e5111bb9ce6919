const waiting: (() => void)[] = [];

/** Resolves in a later turn of the event loop, one operation in each, so that many of them delay others no more than one. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    waiting.push(resolve);
    if (waiting.length === 1) setImmediate(wakeOne);
  });
}

function wakeOne(): void {
  waiting.shift()?.();
  if (waiting.length > 0) setImmediate(wakeOne);
}
