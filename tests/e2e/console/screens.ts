import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { patience, settleMotion, type Visit, violations } from './browser.ts';
import { examplePages } from './example/pages.ts';
import { pages } from './pages.ts';
import type { ConsolePlatform } from './platform.ts';

/** Each differs from the one before in one way. Structure does not depend on colours, so that every second one needs a look at contrasts only. */
export const screens = [
  { colorScheme: 'light', width: 1440, checks: 'all' },
  { colorScheme: 'dark', width: 1440, checks: 'contrasts' },
  { colorScheme: 'dark', width: 390, checks: 'all' },
  { colorScheme: 'light', width: 390, checks: 'contrasts' },
] as const;

export type Screen = (typeof screens)[number];
/** A screen, and how much of it is looked at. */
type Checked = Pick<Screen, 'colorScheme' | 'width'> & { readonly checks: Screen['checks'] };

/** Half of the pages begin on a narrow screen, so that going from wide to narrow is seen as often as the other way round. */
export const screensOf = (index: number): readonly Screen[] => (index % 2 === 0 ? screens : screens.toReversed());

export async function useScreen(page: Page, { width, colorScheme }: Screen): Promise<void> {
  await page.setViewportSize({ width, height: 844 });
  await page.emulateMedia({ colorScheme });
}

/** Waits until the page has taken the form of the screen, and expects that nothing is beyond its edge and that everybody can use it. */
export async function expectWhole(page: Page, screen: Checked, within?: string): Promise<void> {
  const name = `${screen.colorScheme}, ${screen.width} pixels wide`;
  await page.locator(`html[data-mantine-color-scheme="${screen.colorScheme}"]`).waitFor();
  await settleMotion(page);
  await expect
    .poll(() => page.evaluate('document.documentElement.scrollWidth - innerWidth'), { timeout: patience, message: name })
    .toBeLessThanOrEqual(0);
  expect(await violations(page, screen.checks, within), name).toEqual([]);
}

/** The example shows the others, with more on them. */
const ownPages = pages.filter(({ name }) => !examplePages.some((one) => one.name === name));

/** Pages in both colours, on wide and narrow screens. */
export function testScreens(platform: () => ConsolePlatform): void {
  describe('in both colours, wide and narrow', () => {
    let visit: Visit;
    beforeAll(async () => {
      visit = await platform().ownerVisit();
    });
    afterAll(() => visit?.[Symbol.asyncDispose]());

    test.each(ownPages.map((page, index) => ({ ...page, order: screensOf(index) })))(
      '$name is whole, and everybody can use it',
      async ({ path, shows, order }) => {
        const { page, complaints } = visit;
        await useScreen(page, order[0]!);
        await page.goto(platform().at(path));
        for (const screen of order) {
          await useScreen(page, screen);
          await page.locator('main').getByText(shows).first().waitFor();
          await expectWhole(page, screen);
        }
        expect(complaints.splice(0)).toEqual([]);
      },
    );
  });
}
