import type { Page } from 'playwright-core';
import { plan } from './example/apps.ts';
import type { ConsolePlatform } from './platform.ts';

/** A picture that needs more than the address of a page. */
export interface Scene {
  readonly name: string;
  readonly show: (page: Page, platform: ConsolePlatform) => Promise<void>;
}

const upload = async (page: Page, ...names: string[]): Promise<void> => {
  for (const name of names) {
    await page.getByLabel('Files to upload').setInputFiles({ name, mimeType: 'text/plain', buffer: Buffer.from(name.repeat(500)) });
    await page.getByRole('table', { name: 'Files' }).getByText(name, { exact: true }).waitFor();
  }
};

async function showTerminal(page: Page, platform: ConsolePlatform): Promise<void> {
  await platform.capstan('run', '--network', 'none', '--no-upload', '-d', '--name', 'train', '--', 'sh', '-c', 'mkdir out; sleep 3600');
  await page.goto(platform.at('/units/default/train?tab=terminal'));
  const screen = page.locator('.xterm-rows');
  await screen
    .getByText(/[#$]\s*$/)
    .first()
    .waitFor();
  await page.keyboard.type('nproc; free -h; ls -l\n');
  await screen.getByText('out').first().waitFor();
}

async function showUnitFiles(page: Page, platform: ConsolePlatform): Promise<void> {
  await page.goto(platform.at('/units/default/train?tab=files'));
  await page.getByRole('button', { name: 'out/', exact: true }).waitFor();
  await upload(page, 'train.py', 'settings.yaml');
}

async function showStorageFiles(page: Page, platform: ConsolePlatform): Promise<void> {
  await platform.capstan('volume', 'create', 'corpus', '--size', '64Mi', '--node', platform.node);
  await page.goto(platform.at('/storages/default/corpus'));
  await page.getByRole('button', { name: 'Open the files' }).click();
  await page.getByText('The folder is empty.').waitFor();
  await upload(page, 'labels.csv', 'images.tar');
}

async function showCompletion(page: Page, platform: ConsolePlatform): Promise<void> {
  await page.goto(platform.at('/api/new'));
  await page.getByRole('textbox', { name: 'YAML' }).click();
  await page.keyboard.press('Control+A');
  await page.keyboard.insertText('apiVersion: compute.capstan.dev/v1alpha1\nkind: GPUUnit\nmetadata:\n  name: train\nspec:\n  ');
  await page.keyboard.type('re');
  await page.getByRole('option', { name: /^resources/ }).waitFor();
  await page.waitForTimeout(500);
}

async function showDifferences(page: Page, platform: ConsolePlatform): Promise<void> {
  await page.goto(platform.at('/api/core/v1/configmaps/default/settings'));
  const editor = page.getByRole('textbox', { name: 'YAML' });
  await editor.click();
  await page.keyboard.press('Control+End');
  await page.keyboard.insertText('data:\n  level: debug\n');
  await page.getByRole('button', { name: 'Dry run' }).click();
  await page.getByText('The server would store this.').waitFor();
}

/** The page of somebody else: nobody is signed in there. */
async function showSignIn(page: Page, platform: ConsolePlatform): Promise<void> {
  await page.route('**/session', (route) => route.fulfill({ status: 401, json: { code: 'signed_out', ways: ['link', 'token'] } }));
  await page.goto(`${platform.url}/sign-in?trouble=session-expired`);
  await page.getByText('Your session has expired.').waitFor();
  await page.unroute('**/session');
}

async function showNewOffering(page: Page, platform: ConsolePlatform): Promise<void> {
  await page.goto(platform.at('/allocations'));
  await page.getByRole('button', { name: 'New offering' }).click();
  await page.getByRole('dialog').getByLabel('Name').fill('h100-4');
}

async function showPalette(page: Page, platform: ConsolePlatform): Promise<void> {
  await page.goto(platform.at(''));
  await page.getByText('llama-finetune').first().waitFor();
  await page.keyboard.press('Control+k');
  await page.keyboard.type('la');
  await page.getByRole('option', { name: /llama/ }).waitFor();
}

async function showEnrolment(page: Page, platform: ConsolePlatform): Promise<void> {
  await page.goto(platform.at('/fleet'));
  await page.getByRole('button', { name: 'Add a machine' }).click();
  await page.getByRole('dialog').getByLabel('Name of the node').fill('gpu-11');
  await page.keyboard.press('Enter');
  await page.getByText('Waiting until gpu-11 joins').waitFor();
}

/** Answers the requests of the form as a platform with machines for it would. */
async function answerPlan(page: Page): Promise<void> {
  await page.route('**/namespaces/default/appinstances', (route) =>
    route.request().method() === 'POST' ? route.fulfill({ status: 201, json: route.request().postDataJSON() }) : route.continue(),
  );
  await page.route('**/namespaces/default/appoperations', (route) =>
    route.request().method() === 'POST' ? route.fulfill({ status: 201, json: plan }) : route.continue(),
  );
}

async function showPlan(page: Page, platform: ConsolePlatform): Promise<void> {
  await answerPlan(page);
  await page.goto(platform.at('/catalog/slurm'));
  await page.getByLabel('Name').fill('lab-2');
  await page.getByRole('combobox', { name: 'Controller allocation' }).click();
  await page.getByRole('option', { name: /^slurm-head/ }).click();
  await page.getByRole('button', { name: 'Show the plan' }).click();
  await page.getByRole('heading', { name: 'Plan' }).waitFor();
}

/** With the real server. */
export const realScenes: readonly Scene[] = [
  { name: 'unit-terminal', show: showTerminal },
  { name: 'unit-files', show: showUnitFiles },
  { name: 'storage-files', show: showStorageFiles },
  { name: 'completion', show: showCompletion },
  { name: 'differences', show: showDifferences },
  { name: 'sign-in', show: showSignIn },
];

/** In the cloud of the example. */
export const exampleScenes: readonly Scene[] = [
  { name: 'dialog', show: showNewOffering },
  { name: 'enrolment', show: showEnrolment },
  { name: 'plan', show: showPlan },
  { name: 'palette', show: showPalette },
];
