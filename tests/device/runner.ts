/** The parts of vitest and of the testbed that the suites of drivers use, for machines that have only Node: the bundle has this in its place. */
import assert from 'node:assert/strict';
import { after, describe as group, test as one } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { format } from 'node:util';

type Work = () => void | Promise<void>;

const untilEnd = { timeout: 120_000 };
const skipped = (name: string, work: Work): void => void group(name, { skip: true }, work);

export const afterAll = after;
export const describe = Object.assign((name: string, work: Work): void => void group(name, work), {
  skip: skipped,
  skipIf: (isSkipped: boolean) => (isSkipped ? skipped : describe),
});
export const test = Object.assign((name: string, work: Work): void => void one(name, untilEnd, work), {
  each:
    <Row extends readonly unknown[]>(rows: readonly Row[]) =>
    (name: string, work: (...row: Row) => void | Promise<void>): void => {
      for (const row of rows) void one(format(name, row[0]), untilEnd, () => work(...row));
    },
});

export function describeUnless(problem: string | undefined, title: string, work: Work): void {
  if (problem === undefined) return describe(title, work);
  process.stderr.write(`SKIPPED ${title}: ${problem}\n`);
}

export const vi = {
  async waitFor<Value>(look: () => Value | Promise<Value>, { timeout, interval }: { timeout: number; interval: number }): Promise<Value> {
    for (const until = performance.now() + timeout; ; await sleep(interval)) {
      try {
        return await look();
      } catch (error) {
        if (performance.now() > until) throw error;
      }
    }
  },
};

export const expect = (found: unknown) => ({
  toBe: (wanted: unknown) => assert.equal(found, wanted),
  toEqual: (wanted: unknown) => assert.deepEqual(found, wanted),
  toMatchObject: (wanted: object) => assert.partialDeepStrictEqual(found, wanted),
  toBeUndefined: () => assert.equal(found, undefined),
  toBeGreaterThan: (least: number) => assert.ok((found as number) > least, `expected more than ${least}, found ${String(found)}`),
  toHaveLength: (length: number) => assert.equal((found as { length: number }).length, length),
  toContain: (part: string) => assert.ok((found as string).includes(part), `expected ${part} in ${String(found)}`),
  not: {
    toBe: (other: unknown) => assert.notEqual(found, other),
    toContain: (part: string) => assert.ok(!(found as string).includes(part), `expected no ${part} in ${String(found)}`),
  },
  rejects: {
    toThrow: (wanted: string | (new (message: string) => Error)) =>
      assert.rejects(found as Promise<unknown>, (error: Error) =>
        typeof wanted === 'string' ? error.message.includes(wanted) : error instanceof wanted,
      ),
  },
});
