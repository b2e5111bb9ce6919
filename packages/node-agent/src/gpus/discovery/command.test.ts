import { describe, expect, test } from 'vitest';
import { GpuError } from '../errors.ts';
import { commandRunner } from './command.ts';

const node = process.execPath;
const script = (text: string): string[] => ['-e', text];
const hang = script('setInterval(() => {}, 1000)');
const failsWith = (code: string): Error => expect.objectContaining({ code }) as Error;

describe('commandRunner', () => {
  const run = commandRunner({ timeout: 20_000, maxOutput: 10_000 });

  test('returns both streams and the exit code', async () => {
    await expect(run(node, script('console.log("a b"); console.error("c"); process.exitCode = 6'))).resolves.toEqual({
      output: 'a b\nc\n',
      exitCode: 6,
    });
  });

  test('passes arguments as they are, without a shell', async () => {
    const { output } = await run(node, ['-e', 'console.log(process.argv[1])', '$(id); `id` > x']);
    expect(output).toBe('$(id); `id` > x\n');
  });

  test('does not pass on the environment of the agent', async () => {
    process.env['CAPSTAN_TEST_SECRET'] = 'secret';
    try {
      expect((await run(node, script('console.log(process.env.CAPSTAN_TEST_SECRET)'))).output).toBe('undefined\n');
    } finally {
      delete process.env['CAPSTAN_TEST_SECRET'];
    }
  });

  test('rejects a program that does not exist', async () => {
    await expect(run('/nonexistent/nvidia-smi', [])).rejects.toThrow(failsWith('ToolMissing'));
  });

  test('kills a program that prints without end', async () => {
    await expect(run(node, script('for (;;) console.log("x".repeat(1000))'))).rejects.toThrow(failsWith('OutputTooLarge'));
  });

  test('gives up on a program that hangs, and does not start another before it has ended', async () => {
    const impatient = commandRunner({ timeout: 100, maxOutput: 10_000 });
    const codes: unknown[] = [];
    await impatient(node, hang).catch(async (error: unknown) => {
      codes.push(error instanceof GpuError && error.code);
      await impatient(node, script('')).catch((again: unknown) => codes.push(again instanceof GpuError && again.code));
    });
    expect(codes).toEqual(['ToolTimeout', 'ToolStuck']);
    await expect
      .poll(
        () =>
          impatient(node, script('')).then(
            () => 'ran',
            (error: GpuError) => error.code,
          ),
        { timeout: 20_000 },
      )
      .not.toBe('ToolStuck');
  });

  test('gives up when the agent stops', async () => {
    const stop = new AbortController();
    const running = commandRunner({ timeout: 20_000, maxOutput: 100, signal: stop.signal })(node, hang);
    stop.abort();
    await expect(running).rejects.toThrow(failsWith('ToolFailed'));
  });
});
