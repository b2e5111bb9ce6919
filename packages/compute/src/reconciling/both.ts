/** Waits for both, also if one fails, and returns the result of the first. */
export async function both<T>(first: Promise<T>, second: Promise<void> | undefined): Promise<T> {
  const [result, other] = await Promise.allSettled([first, second]);
  if (result.status === 'rejected') throw result.reason;
  if (other.status === 'rejected') throw other.reason;
  return result.value;
}
