/** Coalesces calls: any number of calls during a run cause one more run after it. Never runs twice at once. */
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
