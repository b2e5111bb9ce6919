import { copyFile, readFile, symlink } from 'node:fs/promises';
import { resolve } from 'node:path';
import { capstanProgram, run, startCapstan, startControllerManager, temporaryDirectory } from '@capstan/testbed';
import { describeWith } from '@capstan/testbed/vitest';
import { expect, test } from 'vitest';

const repository = resolve(import.meta.dirname, '../../..');

/** The blocks of the page that are marked as part of the demo, in order. */
async function demo(): Promise<string[]> {
  const page = await readFile(resolve(repository, 'docs/workspaces.md'), 'utf8');
  return [...page.matchAll(/<!-- demo -->\n\n```sh\n(.*?)```/gs)].map(([, block]) => block!);
}

await describeWith(['kubectl'], 'the workspace demo', ({ kubectl }) => {
  test('runs as written', { timeout: 240_000 }, async () => {
    await using server = await startCapstan({ store: 'sqlite' });
    await using _manager = await startControllerManager(server);
    using directory = temporaryDirectory('demo');
    await symlink(capstanProgram, directory.join('capstan'));
    await symlink(kubectl, directory.join('kubectl'));
    const kubeconfig = directory.join('kubeconfig');
    await copyFile(server.kubeconfig, kubeconfig);
    const said: string[] = [];
    for (const block of await demo()) {
      const environment = { KUBECONFIG: kubeconfig, PATH: `${directory.path}:${process.env.PATH}` };
      const { code, stdout, stderr } = await run('bash', ['-euo', 'pipefail', '-c', block], {
        directory: repository,
        environment,
        timeout: 120_000,
      });
      expect([code, block, stderr]).toEqual([0, block, expect.anything()]);
      said.push(`${stdout}${stderr}`);
    }
    expect(said).toHaveLength(12);
    const [offered = '', bound = '', used = '', provided = '', left = '', taken = '', ...others] = said;
    const [pruned = '', published = '', seen = '', changed = '', given = '', limited = ''] = others;
    expect(offered).toContain('apiexport.apis.kcp.io/models condition met');
    for (const team of ['red', 'green', 'blue']) expect(bound).toContain(team);
    expect(bound.match(/models\.training\.example\.com can be used here/g)).toHaveLength(3);
    expect(used).toContain('my-amazing-chat');
    expect(used).toMatch(/spec\.processesPerNode: Invalid value: 64: spec\.processesPerNode in body should be less than or equal to 8/);
    expect(provided.match(/my-amazing-chat/g)).toHaveLength(3);
    expect(left).toMatch(/secrets\.core\s.*Accepted/);
    expect(taken).toContain('my-amazing-chat');
    expect(pruned.match(/configmap\/sizes pruned/g)).toHaveLength(2);
    expect(published).toContain('cachedresource.cache.kcp.io/flavors condition met');
    expect(seen.match(/^h200-8 +H200 +8$/gm)).toHaveLength(2);
    expect(seen).toContain('(MethodNotAllowed)');
    expect(seen).toContain('flavors.cloud.example.com "next-year" not found');
    expect(changed).toMatch(/^next-year +R300 +16$/m);
    for (const role of ['admin', 'edit', 'user', 'view', 'viewer']) expect(given).toMatch(new RegExp(`^${role} +`, 'm'));
    expect(given).toMatch(/apibindings\.apis\.kcp\.io +\[\] +\[\] +\[.*create/);
    expect(limited).toContain('resourcequota/workspace annotated');
  });
});
