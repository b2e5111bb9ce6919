import { type HostProcess, run, tool } from '@capstan/testbed';
import { describeUnless } from '@capstan/testbed/vitest';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { Newcomer, pressControlC, type Terminal } from '../support/newcomer.ts';
import { namedCommands, shellBlocks } from '../support/pages.ts';

const page = 'README.md';
const kubectl = await tool('kubectl');
/** The program of the page, where units look for it. */
const python = '/usr/bin/python3';
const problem = (await Newcomer.problem()) ?? ((await run(python, ['--version'])).code === 0 ? undefined : `${python} is not installed`);
const patience = { timeout: 30_000, interval: 200 };

describeUnless(problem, 'the quick start of the README, as written', () => {
  let newcomer: Newcomer;
  let server: HostProcess;
  let second: Terminal;
  beforeAll(async () => {
    newcomer = await Newcomer.arrive();
  });
  afterAll(() => newcomer?.[Symbol.asyncDispose]());

  /** Runs a block to its end, and returns what it prints. */
  const succeed = async (terminal: Terminal, block: string): Promise<string> => {
    const { code, stdout, stderr } = await terminal.run(block);
    expect([code, block, stdout, stderr]).toEqual([0, block, expect.anything(), expect.anything()]);
    return stdout;
  };

  test('npm start serves', async () => {
    const [start = ''] = await shellBlocks(page, 'Run it');
    // The tests have done the first step, which downloads packages.
    expect(start).toMatch(/^npm ci\n/);
    server = newcomer.terminal().start(start.replace('npm ci\n', ''));
    await server.waitUntil('announced', () => server.output.includes('Capstan is ready at https://127.0.0.1:6443.'));
  });

  test('a program runs, and another one in the background, whose port opens', async () => {
    second = newcomer.terminal();
    const [prepare = '', hello = '', background = '', ...others] = await shellBlocks(page, 'Run a program');
    expect(others).toEqual([]);
    await succeed(second, prepare);
    expect(await succeed(second, hello)).toBe('hello from /workspace/hello.py\n');
    const forwarding = second.start(background);
    await forwarding.waitUntil('prints the address', () => /http:\/\/127\.0\.0\.1:\d+/.test(forwarding.output));
    const [url] = /http:\/\/127\.0\.0\.1:\d+/.exec(forwarding.output)!;
    const fetched = `fetch('${url}/').then(async (answer) => console.log(answer.status, await answer.text()))`;
    await vi.waitFor(async () => {
      expect((await newcomer.host.run([process.execPath, '-e', fetched])).stdout).toMatch(/^200 .*hello\.py/s);
    }, patience);
    pressControlC(forwarding);
    await forwarding.exited;
    // The program may have been too young to have printed it when the block asked.
    const logs = /^capstan logs .*$/m.exec(background)![0];
    await vi.waitFor(async () => expect(await succeed(second, logs)).toContain('Serving HTTP on 0.0.0.0 port 8000'), patience);
  });

  test('the commands of the text work', async () => {
    const commands = await namedCommands(page, 'Run a program');
    const [shell, remove, back] = ['capstan shell web', 'capstan rm --force web', 'capstan ws use root'];
    expect(commands).toEqual(expect.arrayContaining([shell, remove, back]));
    expect(await second.run(shell, 'pwd; exit 3\n')).toMatchObject({ code: 3, stdout: '/workspace\n' });
    // The network is isolated, and leads out.
    expect(await succeed(second, `${shell} -- cat /proc/net/dev`)).toContain('eth0:');
    await succeed(second, remove);
    expect(await succeed(second, 'capstan ps')).toContain('Nothing runs.');
    await succeed(second, back);
  });

  test('so do those of docs/cli.md', async () => {
    const terminal = newcomer.terminal();
    const [prepare = '', , background = ''] = await shellBlocks(page, 'Run a program');
    await succeed(terminal, `${prepare.split('\n')[0]}; capstan ws use root:main:default; mkdir cli; cd cli; echo 1,2 > data.csv`);
    await succeed(terminal, background.split('\n')[0]!);
    const [block = ''] = await shellBlocks('docs/cli.md', 'Work with units');
    for (const line of block.trim().split('\n')) {
      // These need a terminal and a program of their own; other tests run them.
      if (/^capstan (attach|ssh) /.test(line)) continue;
      const goesOn = { logs: 'Serving HTTP', 'port-forward': '-> 6006' }[/^capstan (\S+)/.exec(line)![1]!];
      if (goesOn === undefined) {
        await succeed(terminal, line);
        continue;
      }
      const program = terminal.start(line);
      await program.waitUntil(goesOn, () => program.output.includes(goesOn));
      pressControlC(program);
      await program.exited;
    }
    expect(await succeed(terminal, 'capstan ps --all')).not.toContain('web');
    await succeed(terminal, 'capstan ws use root');
  });

  test.skipIf('missing' in kubectl)('so do the five minutes with kubectl', async () => {
    const terminal = newcomer.terminal();
    newcomer.install('kubectl', (kubectl as { path: string }).path);
    const [store = '', watch = '', kind = '', account = '', ...others] = await shellBlocks(page, 'Five minutes with kubectl');
    expect(others).toEqual([]);
    expect(await succeed(terminal, store)).toContain('color: blue');
    expect(await succeed(terminal, watch)).toContain('configmap/settings patched');
    expect(await succeed(terminal, kind)).toContain('gpus.example.com condition met\n');
    // The exit code of the last question is its answer.
    expect(await terminal.run(account)).toMatchObject({ code: 1, stdout: expect.stringMatching(/\nyes\nno\n$/) });
  });

  test('Ctrl-C ends it', async () => {
    pressControlC(server);
    await server.exited;
  });
});
