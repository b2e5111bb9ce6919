import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { setTimeout } from 'node:timers/promises';
import { requireTool } from '@capstan/testbed';
import { type Browser, type BrowserContext, type BrowserContextOptions, chromium, type Page, type Request } from 'playwright-core';

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
  /** Resolves when the page has asked everything that it wants to know. Its stream stays open. */
  settled(): Promise<void>;
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
  const asked = new Set<Request>();
  page.on('request', (request) => asked.add(request));
  for (const end of ['requestfinished', 'requestfailed'] as const) page.on(end as 'requestfinished', (request) => asked.delete(request));
  const settled = async (): Promise<void> => {
    for (let looks = 0; looks < 3; looks = asked.size === 0 ? looks + 1 : 0) await setTimeout(40);
  };
  return { page, context, complaints, settled, [Symbol.asyncDispose]: () => context.close() };
}

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** Resolves when nothing moves or fades any more. */
export async function settleMotion(page: Page): Promise<void> {
  await page.evaluate(
    'Promise.allSettled(document.getAnimations().filter((one) => one.effect.getTiming().iterations !== Infinity).map((one) => one.finished)).then(() => 0)',
  );
}

/** Rules that a page, or a part of it, breaks badly, each with the elements that do. */
export async function violations(page: Page, checks: 'all' | 'contrasts' = 'all', within = 'html'): Promise<readonly string[]> {
  // What fades in has little contrast for a moment.
  await settleMotion(page);
  if (!(await page.evaluate<boolean>('"axe" in window'))) await page.evaluate(`${axe};0`);
  const options = { resultTypes: ['violations'], ...(checks === 'contrasts' && { runOnly: ['color-contrast'] }) };
  return page.evaluate<string[]>(`axe.run(${JSON.stringify(within)}, ${JSON.stringify(options)}).then(({ violations }) => violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, nodes }) => id + ': ' + nodes.map(({ target, failureSummary }) => target.join(' ') + ' ' + failureSummary).join('; ')))`);
}
