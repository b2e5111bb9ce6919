import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, test } from 'vitest';
import { allocationMarker, processesMarked } from '../processes/proc.ts';
import { UnitProblem, unitMarker } from '../units/drivers/driver.ts';
import { type DriverUnderTest, TestRooms, untilRead } from './unit-rooms.ts';

/** The behaviour that every driver of units must have. */
export function unitDriverSuite(tested: DriverUnderTest): void {
  const rooms = new TestRooms(tested);
  afterEach(() => rooms.clean());

  describe('a program', () => {
    test('runs with its environment; its output and exit code are kept', async () => {
      const room = rooms.shell('echo "$GREETING"; echo "$0 $HOSTNAME"; echo bad >&2; printf half; exit 3', {
        environment: { GREETING: 'good day' },
      });
      const { state, stdout, stderr } = await rooms.run(room);
      expect(state).toMatchObject({ phase: 'exited', code: 3, reason: 'Error' });
      expect(stdout).toBe('good day\n/bin/sh unit-0\nhalf');
      expect(stderr).toBe('bad\n');
      expect(await (await tested.renew()).log(room.id, 0)).toMatchObject({ complete: true });
    });

    test('writes times and streams in front of its lines, in order', async () => {
      const room = await rooms.start(rooms.shell('for i in 1 2 3 4 5; do echo $i; done'));
      await rooms.ended(room);
      const lines = await rooms.lines(room);
      expect(lines.map((line) => line.replace(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+(Z|\+00:00) /, ''))).toEqual(
        [1, 2, 3, 4, 5].map((n) => `stdout F ${n}`),
      );
    });

    test('that succeeds is completed; one that a signal ended has 128 and the number of the signal', async () => {
      expect((await rooms.run(rooms.shell('exit 0'))).state).toMatchObject({ code: 0, reason: 'Completed' });
      expect((await rooms.run(rooms.shell('kill -9 $$'))).state).toMatchObject({ code: 137, reason: 'Error' });
    });

    test('carries the marks of its allocation and of the unit', async () => {
      const room = await rooms.start(rooms.shell('echo started; exec sleep 600'));
      await rooms.untilPrinted(room, 'started');
      expect((await processesMarked(allocationMarker, room.allocation)).length).toBeGreaterThan(0);
      expect((await processesMarked(unitMarker, room.id)).length).toBeGreaterThan(0);
    });

    test('that does not exist is a bad command, and nothing is left of it', async () => {
      const room = rooms.room(['/does/not/exist']);
      await expect(rooms.start(room)).rejects.toMatchObject({ name: 'UnitProblem', reason: 'BadCommand', isFinal: true });
      expect((await (await tested.renew()).find(room.id, 0))?.phase).not.toBe('running');
    });

    test('sees no GPUs if it has none', async () => {
      expect(await rooms.printed('echo "[$NVIDIA_VISIBLE_DEVICES]"')).toBe('[void]\n');
    });

    test('starts in the folder that it asks for', async () => {
      expect(await rooms.printed('pwd', { workingDirectory: '/usr' })).toBe('/usr\n');
    });
  });

  describe('a start', () => {
    test('happens once', async () => {
      const room = rooms.shell('echo run; sleep 0.2');
      await rooms.start(room);
      await (await tested.renew()).start(room, 0).catch(() => {});
      await rooms.ended(room);
      await (await tested.renew()).start(room, 0).catch(() => {});
      await rooms.ended(room);
      expect(await rooms.output(room, 'stdout')).toBe('run\n');
    });

    test('waits for its permission, and leaves nothing if there is none', async () => {
      const [room, other] = [rooms.shell('echo run'), rooms.shell('echo run')];
      const driver = await tested.renew();
      for (const one of [room, other]) await driver.prepare(one, { onStep: () => {}, signal: AbortSignal.timeout(60_000) });
      const permitted = Promise.withResolvers<void>();
      const starting = driver.start(room, 0, { permitted: permitted.promise });
      const denied = Promise.reject(new UnitProblem('DiskFull', 'the disk is full'));
      denied.catch(() => {});
      await expect(driver.start(other, 0, { permitted: denied })).rejects.toMatchObject({ name: 'UnitProblem', reason: 'DiskFull' });
      expect(await driver.find(other.id, 0)).toBeUndefined();
      expect(await rooms.lines(room)).toEqual([]);
      permitted.resolve();
      await starting;
      await rooms.ended(room);
      expect(await rooms.output(room, 'stdout')).toBe('run\n');
    });

    test('can be repeated as another incarnation, whose output is its own', async () => {
      const room = rooms.shell('echo run');
      await rooms.start(room, 0);
      await rooms.ended(room, 0);
      await rooms.start(room, 1);
      await rooms.ended(room, 1);
      for (const incarnation of [0, 1]) expect(await rooms.output(room, 'stdout', incarnation)).toBe('run\n');
      expect(await (await tested.renew()).find(room.id, 2)).toBeUndefined();
    });

    test('is found by another agent', async () => {
      const room = await rooms.start(rooms.shell('echo started; sleep 600'));
      const driver = await tested.renew();
      expect(await driver.find(room.id, 0)).toMatchObject({ phase: 'running', pid: expect.any(Number), startedAt: expect.any(String) });
      expect(await driver.list()).toContain(room.id);
      await rooms.untilPrinted(room, 'started');
      expect(await driver.log(room.id, 0)).toMatchObject({ complete: false });
    });
  });

  describe('changed', () => {
    test('resolves when the program ends, and when the signal aborts', async () => {
      const room = await rooms.start(rooms.shell('read line'));
      const driver = await tested.renew();
      const aborted = new AbortController();
      const first = driver.changed(room.id, 0, aborted.signal);
      aborted.abort();
      await first;
      expect((await driver.find(room.id, 0))?.phase).toBe('running');
      const second = driver.changed(room.id, 0, AbortSignal.timeout(20_000));
      await driver.stop(room.id, 0);
      await second;
      expect((await driver.find(room.id, 0))?.phase).toBe('exited');
    });
  });

  describe('stop', () => {
    test('asks first, and lets the program end by itself', async () => {
      const room = await rooms.start(rooms.shell('trap "echo bye; exit 7" TERM; echo ready; while :; do sleep 0.05; done'));
      await rooms.untilPrinted(room, 'ready');
      await (await tested.renew()).stop(room.id, 20_000);
      expect(await rooms.ended(room)).toMatchObject({ code: 7 });
      expect(await rooms.output(room, 'stdout')).toContain('bye');
    });

    test('ends everything by force after the grace, also what left the session twice', async () => {
      const script = `trap "" TERM; (trap "" TERM; (setsid sh -c 'trap "" TERM; while :; do sleep 600; done' &) ; while :; do sleep 600; done) & echo ready; while :; do sleep 600; done`;
      const room = await rooms.start(rooms.shell(script));
      await rooms.untilPrinted(room, 'ready');
      expect((await processesMarked(allocationMarker, room.allocation)).length).toBeGreaterThan(2);
      await (await tested.renew()).stop(room.id, 100);
      expect(await processesMarked(allocationMarker, room.allocation)).toEqual([]);
      expect(await rooms.ended(room)).toMatchObject({ phase: 'exited', code: 137 });
    });

    test('children end with the main program', async () => {
      const room = await rooms.start(rooms.shell('setsid sleep 600 & exit 0'));
      expect(await rooms.ended(room)).toMatchObject({ code: 0 });
      expect(await processesMarked(allocationMarker, room.allocation)).toEqual([]);
    });
  });

  describe('exec', () => {
    test('runs a command beside the program', async () => {
      const room = await rooms.start(rooms.shell('sleep 600', { environment: { GREETING: 'hello' } }));
      expect(await rooms.exec(room, 'echo "$GREETING"; echo bad >&2; exit 4')).toEqual({ code: 4, stdout: 'hello\n', stderr: 'bad\n' });
    });

    test('passes input on, and its end', async () => {
      const room = await rooms.start(rooms.shell('sleep 600'));
      const streams = await (await tested.renew()).exec(room.id, { command: ['/bin/cat'], stdin: true, tty: false });
      streams.stdin!.write('x'.repeat(300_000));
      streams.stdin!.end();
      expect((await text(streams.stdout)).length).toBe(300_000);
      expect(await streams.exited).toBe(0);
    });

    test('has its exit code also if input arrives after its end, before anybody has read the code', async () => {
      const room = await rooms.start(rooms.shell('exec sleep 600'));
      const streams = await (await tested.renew()).exec(room.id, { command: ['/bin/sh'], stdin: true, tty: false });
      streams.stderr?.resume();
      const printed = text(streams.stdout);
      streams.stdin!.write('echo last words; exit 4\n');
      // Nothing is read meanwhile.
      execFileSync('sleep', ['0.5']);
      streams.stdin!.write('more\n');
      streams.stdin!.end();
      expect([await streams.exited, await printed]).toEqual([4, 'last words\n']);
    });

    test('waits for a client that reads slowly, and loses nothing', async () => {
      const room = await rooms.start(rooms.shell('sleep 600'));
      const streams = await (await tested.renew()).exec(room.id, {
        command: ['/bin/sh', '-c', 'head -c 8000000 /dev/zero'],
        stdin: false,
        tty: false,
      });
      await sleep(200);
      let count = 0;
      for await (const chunk of streams.stdout as AsyncIterable<Buffer>) count += chunk.length;
      expect(count).toBe(8_000_000);
    });

    test('gives a terminal, which can change its size', async () => {
      const room = await rooms.start(rooms.shell('sleep 600'));
      const command = ['/bin/sh', '-c', 'tty; stty size; trap "stty size; exit 5" WINCH; echo ready; while :; do sleep 0.05; done'];
      const streams = await (await tested.renew()).exec(room.id, { command, stdin: true, tty: true });
      expect(streams.stderr).toBeUndefined();
      expect(await untilRead(streams, 'ready')).toMatch(/^\/dev\/pts\/\d+/);
      streams.resize!({ columns: 101, rows: 31 });
      expect(await untilRead(streams, '31 101')).toContain('31 101');
      expect(await streams.exited).toBe(5);
    });

    test('ends the command when the client closes', async () => {
      const room = await rooms.start(rooms.shell('sleep 600'));
      const streams = await (await tested.renew()).exec(room.id, {
        command: ['/bin/sh', '-c', 'echo ready; exec sleep 500'],
        stdin: true,
        tty: false,
      });
      await untilRead(streams, 'ready');
      streams.close();
      await streams.exited;
      await expect.poll(async () => (await rooms.exec(room, 'cat /proc/[0-9]*/cmdline | tr "\\0" " "')).stdout).not.toContain('sleep 500');
    });

    test('says that a command does not exist', async () => {
      const room = await rooms.start(rooms.shell('sleep 600'));
      const driver = await tested.renew();
      const attempt = async (): Promise<number | undefined> =>
        (await driver.exec(room.id, { command: ['/does/not/exist'], stdin: false, tty: false })).exited;
      expect(await attempt().catch((error: Error) => error.name)).toBe('UnitProblem');
    });
  });

  describe('attach', () => {
    test('shows the output to several clients and passes their input on', async () => {
      const room = await rooms.start(rooms.shell('while read line; do echo "got $line"; [ "$line" = end ] && exit 6; done'));
      const driver = await tested.renew();
      const [first, second] = await Promise.all([driver.attach(room.id, { stdin: true }), driver.attach(room.id, { stdin: false })]);
      first.stdin!.write('one\n');
      await Promise.all([untilRead(first, 'got one'), untilRead(second, 'got one')]);
      second.close();
      expect(await second.exited).toBeUndefined();
      first.stdin!.write('end\n');
      expect(await first.exited).toBe(6);
    });

    test('works with a terminal', async () => {
      const room = await rooms.start(rooms.shell('read line; stty size; echo "got $line"', { tty: true }));
      const streams = await (await tested.renew()).attach(room.id, { stdin: true });
      streams.resize!({ columns: 90, rows: 20 });
      streams.stdin!.write('hello\n');
      const seen = await untilRead(streams, 'got hello');
      expect(seen).toContain('20 90');
      expect(await streams.exited).toBe(0);
    });

    test('a client that does not read never stops the program', async () => {
      const room = await rooms.start(rooms.shell('read line; head -c 30000000 /dev/zero | tr "\\0" "x"; exit 9'));
      const driver = await tested.renew();
      const idle = await driver.attach(room.id, { stdin: true });
      idle.stdout.pause();
      idle.stdin!.write('go\n');
      expect(await rooms.ended(room)).toMatchObject({ code: 9 });
      idle.close();
    });
  });

  describe('connect', () => {
    test('reaches a port on the loopback of the unit', async () => {
      const room = await rooms.start(rooms.room(tested.echoServer(18080)));
      await rooms.untilPrinted(room, 'listening');
      const driver = await tested.renew();
      for (const word of ['hello', 'again']) {
        const socket = await driver.connect(room.id, 18080);
        socket.write(`${word}\n`);
        const [chunk] = (await once(socket, 'data')) as [Buffer];
        expect(chunk.toString()).toBe(`${word}\n`);
        // The other side ends when it has seen our end.
        socket.end();
        socket.resume();
        await once(socket, 'end');
      }
    });

    test('is refused where nobody listens', async () => {
      const room = await rooms.start(rooms.shell('sleep 600'));
      await expect((await tested.renew()).connect(room.id, 18081)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
    });
  });

  test('usage counts processor time and memory', async () => {
    const room = await rooms.start(rooms.shell('i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; echo done; sleep 600'));
    await rooms.untilPrinted(room, 'done');
    const usage = (await (await tested.renew()).usage(room.id))!;
    expect(usage.cpuSeconds).toBeGreaterThan(0.01);
    expect(usage.memoryBytes).toBeGreaterThan(10_000);
  });

  test('a long output stays within its bounds', async () => {
    const room = await rooms.start(
      rooms.shell('i=0; while [ $i -lt 4000 ]; do echo "line $i of a program that says a lot and then some more"; i=$((i+1)); done'),
    );
    await rooms.ended(room);
    const lines = await rooms.lines(room);
    expect(lines.at(-1)).toContain('line 3999 of');
    expect(lines.length).toBeGreaterThan(100);
    expect(lines.length).toBeLessThan(4000);
  });

  test('remove can be repeated, and forgets', async () => {
    const room = await rooms.start(rooms.shell('sleep 600'));
    const driver = await tested.renew();
    await driver.remove(room.id);
    await driver.remove(room.id);
    expect(await driver.find(room.id, 0)).toBeUndefined();
    expect(await driver.list()).not.toContain(room.id);
    expect(await processesMarked(allocationMarker, room.allocation)).toEqual([]);
  });
}
