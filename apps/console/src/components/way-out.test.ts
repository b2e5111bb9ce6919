import { describe, expect, test } from 'vitest';
import { WayOut } from './way-out.ts';

describe('Tab in a terminal', () => {
  /** Presses the keys, each so many milliseconds after the one before, and returns whether the last one leaves. */
  function leaves(...keys: readonly (readonly [key: string, wait?: number])[]): boolean {
    let now = 1000;
    const wayOut = new WayOut(() => now);
    return keys
      .map(([key, wait = 0]) => {
        now += wait;
        const isTaken = wayOut.takes({ type: 'keydown', key });
        wayOut.takes({ type: 'keyup', key });
        return isTaken;
      })
      .at(-1)!;
  }

  test.each([
    ['alone goes to the program', [['Tab']], false],
    ['after Escape leaves', [['Escape'], ['Tab', 500]], true],
    ['after Escape leaves backwards too', [['Escape'], ['Shift'], ['Tab']], true],
    ['after Escape and another key goes to the program', [['Escape'], ['a'], ['Tab']], false],
    ['long after Escape goes to the program', [['Escape'], ['Tab', 3000]], false],
  ] as const)('%s', (_what, keys, expected) => expect(leaves(...keys)).toBe(expected));

  test('never keeps Escape from the program', () => expect(leaves(['Escape'])).toBe(false));
});
