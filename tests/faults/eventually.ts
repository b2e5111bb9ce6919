import { setTimeout as sleep } from 'node:timers/promises';

export interface Patience {
  /** In milliseconds. */
  readonly within?: number;
  readonly every?: number;
}

/** Asks again and again until the answer is something. Errors count as no answer: servers are down in some of these tests. */
export async function eventually<T>(
  subject: string,
  ask: () => Promise<T | undefined>,
  { within = 180_000, every = 100 }: Patience = {},
): Promise<T> {
  let last: unknown;
  for (const end = Date.now() + within; Date.now() < end; await sleep(every)) {
    try {
      const answer = await ask();
      if (answer !== undefined) return answer;
      last = undefined;
    } catch (error) {
      last = error;
    }
  }
  throw new Error(`${subject}: not within ${within / 1000} s`, { cause: last });
}
