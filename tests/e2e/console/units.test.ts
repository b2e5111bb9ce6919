import { readFileSync } from 'node:fs';
import { buildCapstan } from '@capstan/testbed';
import { describeUnless, skipReason } from '@capstan/testbed/vitest';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Visit, violations } from './browser.ts';
import { ConsolePlatform } from './platform.ts';

await buildCapstan();

const problem = process.getuid?.() === 0 ? await skipReason(['chromium']) : 'units are isolated only by root';

/** Runs where a page takes text for markup. */
const markup = '<img src=x onerror=window.hacked=1>';
/** Clears the screen, colours the rest and changes the title of a terminal. */
const escapes = String.raw`\033[2J\033[31mred\033[0m\033]0;owned\007`;

describeUnless(problem, 'units in the console', () => {
  let platform: ConsolePlatform;
  let visit: Visit;
  const hacked = (): Promise<unknown> => visit.page.evaluate('window.hacked');

  beforeAll(async () => {
    platform = await ConsolePlatform.start();
    await platform.capstan('offering', 'create', 'small', '--cpu', '200m', '--memory', '128Mi');
    visit = await platform.visit();
  });
  afterAll(() => platform?.[Symbol.asyncDispose]());

  test('a one-time link signs in, and leaves no secret that a script or the history could read', async () => {
    const { page } = visit;
    const link = await platform.link();
    await page.goto(link);
    await page.getByRole('heading', { level: 1, name: 'Home' }).waitFor();
    expect(page.url()).toBe(platform.at(''));
    expect(await page.evaluate('document.cookie')).toBe('');
    const cookies = await visit.context.cookies();
    expect(cookies).toMatchObject([{ httpOnly: true, sameSite: 'Strict' }]);
    const stored = await page.evaluate<string>('JSON.stringify([{ ...localStorage }, { ...sessionStorage }, history.state])');
    for (const secret of [new URL(link).hash.slice(1), cookies[0]!.value]) expect(stored).not.toContain(secret);
    await page.goBack().catch(() => undefined);
    expect(page.url()).not.toContain('#');
    await using other = await platform.visit();
    await other.page.goto(link);
    await other.page.getByRole('alert').waitFor();
    await other.page.getByRole('heading', { name: 'Sign in to Capstan' }).waitFor();
  });

  describe('a unit', () => {
    test('is created with the form, and runs', async () => {
      const { page } = visit;
      await page.goto(platform.at('/units'));
      await page.getByRole('link', { name: 'New unit' }).click();
      await page.getByLabel('Name', { exact: true }).fill('shown');
      await page.getByRole('combobox', { name: 'Offering' }).click();
      await page.getByRole('option', { name: /^small/ }).click();
      await page
        .getByLabel('Command')
        .fill(`sh -c 'echo started; seq 1000 1040; printf "${escapes}${markup}\\n"; mkdir inner; echo deep > inner/deep; sleep 600'`);
      await page.getByRole('button', { name: 'Add a port' }).click();
      await page.getByRole('button', { name: 'Add a variable' }).click();
      await page.getByLabel('Name of the variable').fill('LEVEL');
      await page.getByLabel('Its value').fill('debug');
      await page.getByRole('button', { name: 'Add a variable' }).click();
      await page.getByRole('button', { name: 'Remove the variable' }).last().click();
      await page.getByRole('button', { name: 'Show as YAML' }).click();
      await page.getByText('name: shown').waitFor();
      await page.getByRole('button', { name: 'Create', exact: true }).click();
      await page.waitForURL(platform.at('/units/default/shown'));
      await page.getByText('Running', { exact: true }).first().waitFor();
      await page.getByText('capstan port-forward shown 8080').waitFor();
      await page.getByText('LEVEL').waitFor();
    });

    test('shows its output as text, whatever it prints', async () => {
      const { page } = visit;
      await page.getByRole('tab', { name: 'Logs' }).click();
      const output = page.getByRole('region', { name: 'Output of the program' });
      await output.getByText('started', { exact: true }).waitFor();
      await output.getByText(`red${markup}`).waitFor();
      expect(await output.locator('img').count()).toBe(0);
      expect(await page.title()).not.toContain('owned');
      await page.getByLabel('Search the output').fill('103');
      await page.getByText('1 of 10').waitFor();
      await page.getByRole('button', { name: 'The next match' }).click();
      await page.getByText('2 of 10').waitFor();
      await page.getByRole('button', { name: 'The match before' }).click();
      await page.getByText('1 of 10').waitFor();
      await page.getByRole('button', { name: 'Follow' }).click();
      await page.getByRole('button', { name: 'Pause' }).waitFor();
      await page.getByLabel('Times').check();
      const [saved] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'Download' }).click()]);
      expect(readFileSync(await saved.path(), 'utf8')).toMatch(/^\d{4}-\d\d-\d\dT\S+ started\n/);
      expect(await hacked()).toBeUndefined();
    });

    test('has a terminal that runs commands', async () => {
      const { page } = visit;
      await page.getByRole('tab', { name: 'Terminal' }).click();
      const screen = page.locator('.xterm-rows');
      await screen
        .getByText(/[#$]\s*$/)
        .first()
        .waitFor();
      await page.keyboard.type(`echo $((6*7)); printf '${markup}\\n'\n`);
      await screen
        .getByText(/^42\s*$/)
        .first()
        .waitFor();
      await screen
        .getByText(/^<img src=x/)
        .first()
        .waitFor();
      expect(await hacked()).toBeUndefined();
    });

    test('is left by Escape and Tab, and Tab alone belongs to the shell', async () => {
      const { page } = visit;
      const isInside = (): Promise<boolean> => page.evaluate<boolean>('document.activeElement.closest(".xterm") !== null');
      await page.keyboard.press('Tab');
      expect(await isInside()).toBe(true);
      await page.getByText('Escape, then Tab, leaves the terminal.').waitFor();
      await page.keyboard.press('Escape');
      await page.keyboard.press('Shift+Tab');
      expect(await isInside()).toBe(false);
      await page.locator('.xterm-screen').click();
      // The shell got Escape too, and takes it and the next key as one.
      await page.keyboard.press('Enter');
      await page.keyboard.type('echo $((6*8))\n');
      await page
        .locator('.xterm-rows')
        .getByText(/^48\s*$/)
        .first()
        .waitFor();
    });

    test('has another terminal when the first one has ended', async () => {
      const { page } = visit;
      await page.keyboard.type('exit\n');
      await page.getByRole('button', { name: 'Open another shell' }).click();
      await page
        .locator('.xterm-rows')
        .getByText(/[#$]\s*$/)
        .first()
        .waitFor();
    });

    test('has files to browse, to upload and to download', async () => {
      const { page } = visit;
      await page.getByRole('tab', { name: 'Files' }).click();
      const row = (name: string) => page.getByRole('table', { name: 'Files' }).getByRole('row').filter({ hasText: name });
      const upload = (name: string, text: string): Promise<void> =>
        page.getByLabel('Files to upload').setInputFiles({ name, mimeType: 'text/plain', buffer: Buffer.from(text) });
      const textOf = async (name: string): Promise<string> => {
        const [download] = await Promise.all([page.waitForEvent('download'), row(name).getByRole('button', { name: 'Download' }).click()]);
        return readFileSync(await download.path(), 'utf8');
      };
      await row('inner').getByRole('button', { name: 'inner/', exact: true }).click();
      await row('deep').waitFor();
      expect(new URL(page.url()).searchParams.get('folder')).toMatch(/\/inner$/);
      await page.goBack();
      await row('inner').waitFor();
      await page.goForward();
      await page.reload();
      await row('deep').waitFor();
      expect(await textOf('deep')).toBe('deep\n');
      for (const name of [markup, "-rf $(touch owned) 'x'"]) {
        await upload(name, `text of ${name}`);
        await row(name).waitFor();
        expect(await textOf(name)).toBe(`text of ${name}`);
      }
      await page.getByRole('button', { name: 'Refresh' }).click();
      await row('deep').waitFor();
      await upload('deep', 'replaced');
      await page.getByRole('dialog', { name: 'Replace files?' }).getByRole('button', { name: 'Replace' }).click();
      await row('deep').getByText('8 B').waitFor();
      expect(await textOf('deep')).toBe('replaced');
      expect(await page.getByRole('table', { name: 'Files' }).getByRole('row').count()).toBe(1 + 3);
      expect(await violations(page)).toEqual([]);
      expect(await hacked()).toBeUndefined();
    });

    test('has plots of its processor and memory', async () => {
      const { page } = visit;
      await page.getByRole('tab', { name: 'Metrics' }).click();
      for (const title of ['Processor', 'Memory']) await page.getByRole('figure').filter({ hasText: title }).locator('canvas').waitFor();
      expect(await violations(page)).toEqual([]);
    });

    test('stops, starts again, and is deleted', async () => {
      const { page } = visit;
      await page.getByRole('button', { name: 'Stop', exact: true }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Stop' }).click();
      await page.getByRole('button', { name: 'Start', exact: true }).click();
      await page.getByText('Running', { exact: true }).first().waitFor();
      await page.getByRole('button', { name: 'Delete', exact: true }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
      await page.waitForURL(platform.at('/units'));
      await page.getByText('Nothing runs here yet').waitFor();
    });
  });

  test('the files of a storage are shown by a unit that goes with the page', async () => {
    const { page } = visit;
    const { stdout } = await platform.capstan('node', 'list', '-o', 'json');
    const node = (JSON.parse(stdout) as { items: { metadata: { name: string } }[] }).items[0]!.metadata.name;
    const made = await platform.capstan('volume', 'create', 'data', '--size', '64Mi', '--node', node);
    expect(made, made.stderr).toMatchObject({ code: 0 });
    await page.goto(platform.at('/storages/default/data'));
    await page.getByRole('button', { name: 'Open the files' }).click();
    await page.getByText('The folder is empty.').waitFor();
    await page.getByLabel('Files to upload').setInputFiles({ name: 'kept', mimeType: 'text/plain', buffer: Buffer.from('kept') });
    await page.getByRole('table', { name: 'Files' }).getByText('kept').waitFor();
    await page.getByRole('navigation', { name: 'Pages' }).getByText('GPU units').click();
    await page.getByText('Nothing runs here yet').waitFor();
    expect((await platform.capstan('volume', 'ls', 'data')).stdout).toContain('kept');
  });

  test('a snapshot of a storage is taken, and a storage is made of it', async () => {
    const { page } = visit;
    const dialog = page.getByRole('dialog');
    await page.goto(platform.at('/storages/default/data'));
    await page.getByRole('button', { name: 'Take a snapshot' }).click();
    await dialog.getByLabel('Name').fill('before');
    await dialog.getByRole('button', { name: 'Take it' }).click();
    const row = page.getByRole('table', { name: 'Snapshots' }).getByRole('row').filter({ hasText: 'before' });
    await row.getByText('Ready').waitFor();
    expect(await violations(page)).toEqual([]);
    await row.getByRole('button', { name: 'Clone before' }).click();
    await dialog.getByLabel('Name').fill('again');
    await dialog.getByRole('button', { name: 'Clone' }).click();
    await page.waitForURL(platform.at('/storages/default/again'));
    await page.getByText('Ready', { exact: true }).first().waitFor();
    await page.locator('main').getByRole('link', { name: 'before' }).click();
    await page.getByText('Snapshot of', { exact: true }).waitFor();
    expect(await page.getByRole('button', { name: 'Take a snapshot' }).count()).toBe(0);
    for (const name of ['again', 'before', 'data']) await platform.capstan('volume', 'rm', name);
  });

  describe('names and texts that others wrote stay text', () => {
    const role = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'viewer' };
    beforeAll(async () => {
      await platform.kube('/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', {
        method: 'POST',
        body: { metadata: { name: markup }, roleRef: role, subjects: [{ apiGroup: role.apiGroup, kind: 'User', name: `user ${markup}` }] },
      });
      await platform.kube('/api/v1/namespaces/default/configmaps', {
        method: 'POST',
        body: { metadata: { name: 'hostile', annotations: { note: `note ${markup}` } }, data: { text: `\u001b[2J data ${markup}` } },
      });
    });

    test.each([
      ['the members', '/tenancy?tab=members', `user ${markup}`],
      ['the list of a kind', '/api/rbac.authorization.k8s.io/v1/clusterrolebindings', markup],
      ['an annotation', '/api/core/v1/configmaps/default/hostile', `note ${markup}`],
    ])('%s', async (_, path, text) => {
      const { page } = visit;
      await page.goto(platform.at(path));
      await page.locator('main').getByText(text).first().waitFor();
      expect(await page.locator('main img').count()).toBe(0);
      expect(await hacked()).toBeUndefined();
    });
  });

  test('no page complained', () => expect(visit.complaints).toEqual([]));
});
