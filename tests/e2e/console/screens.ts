import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { patience, settleMotion, type Visit, violations } from './browser.ts';
import { pages } from './pages.ts';
import type { ConsolePlatform } from './platform.ts';

/** Each differs from the one before in one way. Structure does not depend on colours, so that every second one needs a look at contrasts only. */
const screens = [
  { colorScheme: 'light', width: 1440, checks: 'all' },
  { colorScheme: 'dark', width: 1440, checks: 'contrasts' },
  { colorScheme: 'dark', width: 390, checks: 'all' },
  { colorScheme: 'light', width: 390, checks: 'contrasts' },
] as const;

/** Pages in both colours, on wide and narrow screens. Half of them begin on a narrow one. */
export function testScreens(platform: () => ConsolePlatform): void {
  describe('in both colours, wide and narrow', () => {
    let visit: Visit;
    beforeAll(async () => {
      visit = await platform().ownerVisit();
    });
    afterAll(() => visit?.[Symbol.asyncDispose]());

    test.each(pages.map((page, index) => ({ ...page, order: index % 2 === 0 ? screens : screens.toReversed() })))(
      '$name is whole, and everybody can use it',
      async ({ path, shows, order }) => {
        const { page, complaints } = visit;
        const show = async ({ width, colorScheme }: (typeof screens)[number]): Promise<void> => {
          await page.setViewportSize({ width, height: 844 });
          await page.emulateMedia({ colorScheme });
        };
        await show(order[0]!);
        await page.goto(platform().at(path));
        for (const screen of order) {
          const name = `${screen.colorScheme}, ${screen.width} pixels wide`;
          await show(screen);
          await page.locator('main').getByText(shows).first().waitFor();
          await page.locator(`html[data-mantine-color-scheme="${screen.colorScheme}"]`).waitFor();
          await settleMotion(page);
          await expect
            .poll(() => page.evaluate('document.documentElement.scrollWidth - innerWidth'), { timeout: patience, message: name })
            .toBeLessThanOrEqual(0);
          expect(await violations(page, screen.checks), name).toEqual([]);
        }
        expect(complaints.splice(0)).toEqual([]);
      },
    );
  });
}
