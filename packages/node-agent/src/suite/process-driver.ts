import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { type ProcessDriver, ProcessExists, type ProcessSpec, type ProcessState } from '../processes/driver.ts';
import { processesOf } from '../processes/proc.ts';

const newId = (): string => `test-${randomUUID().slice(0, 8)}`;

const shell = (script: string, more: Partial<ProcessSpec> = {}): ProcessSpec => ({
  id: newId(),
  command: ['/bin/sh', '-c', script],
  outputLimit: 1 << 20,
  ...more,
});

/** The behaviour that every driver must have. `renew` returns a driver as a restarted agent would make it. */
export function driverSuite(renew: () => ProcessDriver): void {
  const ended = async (id: string): Promise<ProcessState> => {
    for (;;) {
      const state = await renew().find(id);
      if (state?.phase === 'exited' && !(await renew().output(id)).complete) await sleep(20);
      else if (state !== undefined && state.phase !== 'running') return state;
      await sleep(20);
    }
  };
  const outputOf = async (id: string): Promise<string> => readFile((await renew().output(id)).file, 'utf8');
  const untilOutput = async (id: string, text: string): Promise<void> => {
    while (!(await outputOf(id).catch(() => '')).includes(text)) await sleep(20);
  };

  test('records output and exit code', async () => {
    const spec = shell('echo out; echo err >&2; echo $GREETING; exit 3', { environment: { GREETING: 'hello' } });
    await renew().start(spec);
    expect(await ended(spec.id)).toEqual({ phase: 'exited', code: 3 });
    expect(await outputOf(spec.id)).toBe('out\nerr\nhello\n');
    await renew().forget(spec.id);
    expect(await renew().find(spec.id)).toBeUndefined();
  });

  test('passes arguments and variables as they are', async () => {
    const odd = `$HOME \${PATH} %n %% $$ 'single' "double" \\ back*slash`;
    const environment = { ODD: `${odd}\nand a second line` };
    const spec: ProcessSpec = {
      id: newId(),
      command: ['/bin/sh', '-c', 'printf "%s\\n" "$@" "$ODD"', 'sh', odd, ''],
      environment,
      outputLimit: 1 << 20,
    };
    await renew().start(spec);
    expect(await ended(spec.id)).toEqual({ phase: 'exited', code: 0 });
    expect(await outputOf(spec.id)).toBe(`${odd}\n\n${environment.ODD}\n`);
    await renew().forget(spec.id);
  });

  test('a program that does not exist exits with 127', async () => {
    const spec: ProcessSpec = { id: newId(), command: ['/does/not/exist'], outputLimit: 1000 };
    await renew().start(spec);
    expect(await ended(spec.id)).toEqual({ phase: 'exited', code: 127 });
    await renew().forget(spec.id);
  });

  test('an id is used once', async () => {
    const spec = shell('true');
    await renew().start(spec);
    await expect(renew().start(spec)).rejects.toThrow(ProcessExists);
    await ended(spec.id);
    await expect(renew().start(spec)).rejects.toThrow(ProcessExists);
    await renew().forget(spec.id);
  });

  test('a process outlives the driver that started it', async () => {
    const spec = shell('echo started; sleep 60 & wait');
    await renew().start(spec);
    await untilOutput(spec.id, 'started');
    expect(await renew().find(spec.id)).toMatchObject({ phase: 'running' });
    expect(await renew().kill(spec.id, 5_000)).toBe('ended');
    expect((await ended(spec.id)).phase).not.toBe('running');
    await renew().forget(spec.id);
  });

  test('kill ends the whole tree, even what ignores SIGTERM or has left the session', async () => {
    const spec = shell(
      'trap "" TERM; (trap "" TERM; sleep 600) & setsid sh -c "trap : TERM; sleep 600; sleep 600" & echo started; sleep 600; sleep 600',
    );
    await renew().start(spec);
    await untilOutput(spec.id, 'started');
    expect((await processesOf(spec.id, undefined)).length).toBeGreaterThan(2);
    expect(await renew().kill(spec.id, 200)).toBe('forced');
    expect(await processesOf(spec.id, undefined)).toEqual([]);
    expect((await ended(spec.id)).phase).not.toBe('running');
    await renew().forget(spec.id);
  });

  test('output beyond the limit is discarded, and the process does not notice', async () => {
    const spec = shell('head -c 3000000 /dev/zero; echo end', { outputLimit: 1024 });
    await renew().start(spec);
    expect(await ended(spec.id)).toEqual({ phase: 'exited', code: 0 });
    expect((await renew().output(spec.id)).truncated).toBe(true);
    expect((await outputOf(spec.id)).length).toBe(1024);
    await renew().forget(spec.id);
  });

  test('output in many small pieces is kept', async () => {
    const spec = shell('i=0; while [ $i -lt 1100 ]; do echo $i; sleep 0.001; i=$((i + 1)); done', { outputLimit: 64 << 20 });
    await renew().start(spec);
    expect(await ended(spec.id)).toEqual({ phase: 'exited', code: 0 });
    expect((await outputOf(spec.id)).trim().split('\n')).toHaveLength(1100);
    expect((await renew().output(spec.id)).truncated).toBe(false);
    await renew().forget(spec.id);
  });

  test('refuses ids that are not names', async () => {
    for (const id of ['', '..', 'a/b', 'A', '-x']) await expect(renew().start(shell('true', { id }))).rejects.toThrow('id of a process');
  });

  test('has no record of a process that never was', async () => {
    expect(await renew().find(newId())).toBeUndefined();
  });
}
