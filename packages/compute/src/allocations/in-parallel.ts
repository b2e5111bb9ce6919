/** Calls `work` for each item, at most `most` at the same time. `work` must not reject. */
export async function inParallel<T>(items: Iterable<T>, most: number, work: (item: T) => Promise<void>): Promise<void> {
  const rest = Iterator.from(items);
  const worker = async (): Promise<void> => {
    for (let next = rest.next(); !next.done; next = rest.next()) await work(next.value);
  };
  await Promise.all(Array.from({ length: most }, worker));
}
