import { buildCapstan, Child, capstanProgram, freePort, run, temporaryDirectory } from '@capstan/testbed';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';

await buildCapstan();

const patience = { timeout: 30_000, interval: 200 };

describe('capstan node', { timeout: 60_000 }, () => {
  const directory = temporaryDirectory('nodes');
  const data = directory.join('data');
  let up: Child;

  const node = (...args: string[]) =>
    run(process.execPath, [capstanProgram, 'node', ...args, '--kubeconfig', `${data}/admin.kubeconfig`], { timeout: 30_000 });
  const join = (command: string, state: string): Child =>
    new Child(`agent in ${state}`, [
      process.execPath,
      capstanProgram,
      ...command.trim().split(' ').slice(1),
      '--state-dir',
      directory.join(state),
    ]);
  const enroll = async (name: string): Promise<string> => {
    let command = '';
    // The platform installs the kinds some time after the first start.
    await vi.waitFor(async () => {
      const { code, stdout } = await node('enroll', name, '--installed');
      expect(code).toBe(0);
      command = stdout;
    }, patience);
    return command;
  };

  beforeAll(async () => {
    up = new Child('capstan up', [
      process.execPath,
      capstanProgram,
      'up',
      '--no-node',
      '--data-dir',
      data,
      '--port',
      String(await freePort()),
    ]);
    await up.waitUntil('announced', () => up.output.includes('Capstan is ready'));
  });
  afterAll(async () => {
    await up.stop();
    directory[Symbol.dispose]();
  });

  test('enrols a machine with the command that it prints, lists it and removes it', async () => {
    await using agent = join(await enroll('gpu-1'), 'first');
    await vi.waitFor(async () => expect((await node('list')).stdout).toMatch(/^gpu-1\s+Ready\s/m), patience);
    expect((await node('remove', 'gpu-1')).stdout).toContain('was removed');
    expect((await agent.exited).code).toBe(14);
    expect((await node('list')).stdout).toContain('No nodes.');
    await using again = join(await enroll('gpu-1'), 'first');
    await vi.waitFor(async () => expect((await node('list')).stdout).toMatch(/^gpu-1\s+Ready\s/m), patience);
    expect(again.running).toBe(true);
  });

  test('explains what is wrong', async () => {
    expect(await node('enroll', 'Not_A_Name')).toMatchObject({ code: 2, stderr: expect.stringContaining('expected a name of at most 58') });
    expect(await node('remove', 'nobody')).toMatchObject({ code: 2, stderr: expect.stringContaining('there is no node nobody') });
    expect(await node('unlock', 'nobody')).toMatchObject({ code: 2 });
    const lonely = await run(process.execPath, [capstanProgram, 'node-agent', '--state-dir', directory.join('lonely')], {
      timeout: 30_000,
    });
    expect(lonely).toMatchObject({ code: 14, stderr: expect.stringContaining('capstan node enroll') });
    const partly = await run(process.execPath, [capstanProgram, 'node-agent', '--token', 'x', '--state-dir', directory.join('partly')], {
      timeout: 30_000,
    });
    expect(partly.code).toBe(2);
  });
});
