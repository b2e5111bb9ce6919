import type { Page } from 'playwright-core';
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

async function showUnitFiles(page: Page, platform: ConsolePlatform): Promise<void> {
  await platform.capstan('run', '--network', 'none', '--no-upload', '-d', '--name', 'train', '--', 'sh', '-c', 'mkdir out; sleep 3600');
  await page.goto(platform.at('/units/default/train?tab=files'));
  await page.getByRole('button', { name: 'out/', exact: true }).waitFor();
  await upload(page, 'train.py', 'settings.yaml');
}

async function showStorageFiles(page: Page, platform: ConsolePlatform): Promise<void> {
  const { stdout } = await platform.capstan('node', 'list', '-o', 'json');
  const node = (JSON.parse(stdout) as { items: { metadata: { name: string } }[] }).items[0]!.metadata.name;
  await platform.capstan('volume', 'create', 'datasets', '--size', '64Mi', '--node', node);
  await page.goto(platform.at('/storages/default/datasets'));
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

async function showDialog(page: Page, platform: ConsolePlatform): Promise<void> {
  await page.goto(platform.at('/allocations'));
  await page.getByRole('button', { name: 'New offering' }).click();
  await page.getByRole('dialog').getByLabel('Name').fill('h100-4');
}

/** The page of somebody else: nobody is signed in there. */
async function showSignIn(page: Page, platform: ConsolePlatform): Promise<void> {
  await page.route('**/session', (route) => route.fulfill({ status: 401, json: { code: 'signed_out', ways: ['link', 'token'] } }));
  await page.goto(`${platform.url}/sign-in?trouble=session-expired`);
  await page.getByText('Your session has expired.').waitFor();
  await page.unroute('**/session');
}

export const scenes: readonly Scene[] = [
  { name: 'unit-files', show: showUnitFiles },
  { name: 'storage-files', show: showStorageFiles },
  { name: 'completion', show: showCompletion },
  { name: 'dialog', show: showDialog },
  { name: 'sign-in', show: showSignIn },
];
