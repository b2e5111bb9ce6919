/** Makes work that follows changes: asked for while it runs, it runs once more afterwards, however often it was asked for. Never twice at once. */
export function coalesced(work: () => Promise<void>): () => Promise<void> {
  let again = false;
  let running = false;
  return async () => {
    again = true;
    if (running) return;
    running = true;
    try {
      while (again) {
        again = false;
        await work();
      }
    } finally {
      running = false;
    }
  };
}
