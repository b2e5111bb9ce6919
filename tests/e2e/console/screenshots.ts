import { mkdirSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { buildCapstan } from '@capstan/testbed';
import { pages } from './pages.ts';
import { ConsolePlatform } from './platform.ts';

/*
 * Stores one picture of each page for the documentation. Run it by hand after a page has changed:
 * node tests/e2e/console/screenshots.ts
 */

const folder = resolve(import.meta.dirname, '../../../docs/images');
const mostBytes = 150_000;

await buildCapstan();
mkdirSync(folder, { recursive: true });
await using platform = await ConsolePlatform.start();
await platform.prepare();
await using visit = await platform.ownerVisit({ colorScheme: 'light' });
for (const { name, path, shows } of pages) {
  const { page } = visit;
  await page.goto(platform.at(path));
  await page.locator('main').getByText(shows).first().waitFor();
  await page.waitForLoadState('networkidle');
  if (name === 'audit') {
    // A full screen of events makes a large file.
    await page.getByLabel('User', { exact: true }).fill('kubernetes-admin');
    await page.getByRole('button', { name: 'Search', exact: true }).last().click();
    await page.getByText('system:serviceaccount').first().waitFor({ state: 'hidden' });
  }
  const file = join(folder, `console-${name}.png`);
  await page.screenshot({ path: file });
  const { size } = statSync(file);
  if (size > mostBytes) throw new Error(`${file} has ${size} bytes; expected at most ${mostBytes}`);
  process.stdout.write(`${file}\n`);
}
