import { mkdirSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { buildCapstan } from '@capstan/testbed';
import type { Page } from 'playwright-core';
import { settleMotion } from './browser.ts';
import { showExample } from './example/cloud.ts';
import { type ExamplePage, examplePages } from './example/pages.ts';
import { pages } from './pages.ts';
import { ConsolePlatform } from './platform.ts';
import { exampleScenes, realScenes, type Scene } from './scenes.ts';

/*
 * Stores one picture of each page for the documentation, or of those that are named. Run it by hand, as root, after a page has changed:
 * node tests/e2e/console/screenshots.ts [NAME…]
 * With --look FOLDER, it stores each page in both colours, wide and narrow, there instead.
 */

const { values, positionals } = parseArgs({ allowPositionals: true, options: { look: { type: 'string' } } });
const folder = resolve(values.look ?? join(import.meta.dirname, '../../../docs/images'));
const wanted = new Set(positionals);
const mostBytes = 250_000;

/** Pages of the example show the same address with more on it. */
const inExample = new Set(examplePages.map(({ name }) => name));
const leftOut = new Set(['unit-events', 'new-object', 'app-events', 'app-stuck', 'node-failed']);
const isShown = ({ name }: { readonly name: string }): boolean => values.look !== undefined || !leftOut.has(name);

const sceneOf = ({ name, path, workspace, shows }: ExamplePage): Scene => ({
  name,
  show: async (page, platform) => {
    await page.goto(platform.at(path, workspace));
    await page.locator('main').getByText(shows).first().waitFor();
    await page.waitForLoadState('networkidle');
  },
});
const real = [...pages.filter((page) => !inExample.has(page.name) && isShown(page)).map(sceneOf), ...realScenes];
const example = [...examplePages.filter(isShown).map(sceneOf), ...exampleScenes];

const screens = [1440, 390].flatMap((width) => (['light', 'dark'] as const).map((colorScheme) => ({ width, colorScheme })));

async function store(page: Page, name: string): Promise<void> {
  const file = join(folder, `${name}.png`);
  await settleMotion(page);
  await page.screenshot({ path: file });
  const { size } = statSync(file);
  if (values.look === undefined && size > mostBytes) throw new Error(`${file} has ${size} bytes; expected at most ${mostBytes}`);
  process.stdout.write(`${file} ${size}\n`);
}

async function take(page: Page, platform: ConsolePlatform, scenes: readonly Scene[]): Promise<void> {
  for (const { name, show } of scenes) {
    if (wanted.size > 0 && !wanted.has(name)) continue;
    await page.setViewportSize({ width: 1440, height: 900 });
    await show(page, platform);
    if (values.look === undefined) await store(page, `console-${name}`);
    else
      for (const { width, colorScheme } of screens) {
        await page.setViewportSize({ width, height: 900 });
        await page.emulateMedia({ colorScheme });
        await page.waitForTimeout(200);
        await store(page, `${name}-${width}-${colorScheme}`);
      }
  }
}

await buildCapstan();
mkdirSync(folder, { recursive: true });
await using platform = await ConsolePlatform.start();
await platform.prepare();
{
  await using visit = await platform.ownerVisit({ colorScheme: 'light' });
  await showExample(visit.page);
  await take(visit.page, platform, example);
}
{
  await using visit = await platform.ownerVisit({ colorScheme: 'light' });
  await take(visit.page, platform, real);
  await visit.page.goto(platform.at('/units'));
}
// Units outlive the platform, and a storage that stays mounted would keep its folder in use.
await platform.capstan('rm', 'train');
await platform.capstan('volume', 'rm', 'corpus');
