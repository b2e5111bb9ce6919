import { mkdirSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { buildCapstan } from '@capstan/testbed';
import { type PageUnderTest, pages } from './pages.ts';
import { ConsolePlatform } from './platform.ts';
import { type Scene, scenes } from './scenes.ts';

/*
 * Stores one picture of each page for the documentation, or of those that are named. Run it by hand, as root, after a page has changed:
 * node tests/e2e/console/screenshots.ts [NAME…]
 */

const folder = resolve(import.meta.dirname, '../../../docs/images');
const mostBytes = 150_000;

/** A page by its address. */
const sceneOf = ({ name, path, shows }: PageUnderTest): Scene => ({
  name,
  show: async (page, platform) => {
    await page.goto(platform.at(path));
    await page.locator('main').getByText(shows).first().waitFor();
    await page.waitForLoadState('networkidle');
    if (name !== 'audit') return;
    // A full screen of events makes a large file.
    await page.getByLabel('User', { exact: true }).fill('kubernetes-admin');
    await page.getByRole('button', { name: 'Search', exact: true }).last().click();
    await page.getByText('system:serviceaccount').first().waitFor({ state: 'hidden' });
  },
});

const wanted = new Set(process.argv.slice(2));
await buildCapstan();
mkdirSync(folder, { recursive: true });
await using platform = await ConsolePlatform.start();
await platform.prepare();
await using visit = await platform.ownerVisit({ colorScheme: 'light' });
for (const { name, show } of [...pages.map(sceneOf), ...scenes]) {
  if (wanted.size > 0 && !wanted.has(name)) continue;
  await show(visit.page, platform);
  const file = join(folder, `console-${name}.png`);
  await visit.page.screenshot({ path: file });
  const { size } = statSync(file);
  if (size > mostBytes) throw new Error(`${file} has ${size} bytes; expected at most ${mostBytes}`);
  process.stdout.write(`${file}\n`);
}
// A storage that stays mounted would keep the folder of the platform in use.
await visit.page.goto(platform.at('/units'));
await platform.capstan('volume', 'rm', 'datasets');
