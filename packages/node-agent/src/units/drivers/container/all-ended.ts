/** Like `Promise.all`, but nothing is under way any more when it rejects: an effect that comes later could not be undone. */
export async function allEnded<T extends readonly unknown[]>(work: T): Promise<{ -readonly [K in keyof T]: Awaited<T[K]> }> {
  await Promise.allSettled(work);
  return Promise.all(work);
}
