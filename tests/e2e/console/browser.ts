import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { requireTool } from '@capstan/testbed';
import { type Browser, type BrowserContext, type BrowserContextOptions, chromium, type Page } from 'playwright-core';

/** How long something in a page may take on a busy machine. */
export const patience = 60_000;

const flags = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/** A page, and everything that it complained about. */
export interface Visit extends AsyncDisposable {
  readonly page: Page;
  readonly context: BrowserContext;
  readonly complaints: string[];
}

export async function startBrowser(): Promise<Browser> {
  return chromium.launch({ executablePath: await requireTool('chromium'), args: flags });
}

export async function openVisit(browser: Browser, options: BrowserContextOptions = {}): Promise<Visit> {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, ...options });
  context.setDefaultTimeout(patience);
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on('console', (message) => {
    // Before signing in, a page has to ask whether it is.
    const isQuestion = message.location().url.endsWith('/session');
    if (message.type() === 'error' && !isQuestion) complaints.push(`${page.url()}: ${message.text()}`);
  });
  page.on('pageerror', (error) => complaints.push(`${page.url()}: ${error.message}`));
  return { page, context, complaints, [Symbol.asyncDispose]: () => context.close() };
}

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** Rules that a page breaks badly, each with the elements that do. */
export async function violations(page: Page): Promise<readonly string[]> {
  await page.evaluate(`${axe};0`);
  return page.evaluate<string[]>(`axe.run().then(({ violations }) => violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, nodes }) => id + ': ' + nodes.map(({ target, failureSummary }) => target.join(' ') + ' ' + failureSummary).join('; ')))`);
}
