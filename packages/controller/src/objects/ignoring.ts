/**
 * The result of a request, or undefined if it failed with an error that one of the checks accepts: `await ignoring(maps.delete(name), isNotFound)`.
 * Any other error is thrown.
 */
export async function ignoring<T>(request: Promise<T>, ...checks: readonly ((error: unknown) => boolean)[]): Promise<T | undefined> {
  try {
    return await request;
  } catch (error) {
    if (checks.some((check) => check(error))) return undefined;
    throw error;
  }
}
