import { describeWith } from '@capstan/testbed/vitest';
import { afterEach, expect, test } from 'vitest';
import { allocationMarker, processesMarked } from '../../../../processes/proc.ts';
import { dockerMachine } from '../../../../suite/docker-machine.ts';
import { TestRooms } from '../../../../suite/unit-rooms.ts';

/** A part of what `docker.long.ts` tests, which takes minutes. */
await describeWith(['dockerd', 'containerd'], 'containers of Docker', () => {
  const tested = dockerMachine();
  const rooms = new TestRooms(tested);
  afterEach(() => rooms.clean());

  test('run in namespaces of an anchor, outlive the daemon, and leave nothing behind', async () => {
    const room = await rooms.start(rooms.shell('hostname; echo ready; read line; echo "got $line" >&2; exit 5', { memory: 64 << 20 }));
    await rooms.untilPrinted(room, 'ready');
    expect(await tested.containers()).toContain(`capstan-${room.id}-0-anchor`);
    expect((await rooms.exec(room, 'cat /proc/1/environ; grep NoNewPrivs /proc/self/status')).stdout).toMatch(/^NoNewPrivs:\s*1\n$/);
    await tested.daemon().restart();
    const driver = await tested.renew();
    expect(await driver.find(room.id, 0)).toMatchObject({ phase: 'running' });
    const streams = await driver.attach(room.id, { stdin: true });
    streams.stdin!.write('word\n');
    expect(await rooms.ended(room)).toMatchObject({ phase: 'exited', code: 5, reason: 'Error' });
    expect([await rooms.output(room, 'stdout'), await rooms.output(room, 'stderr')]).toEqual(['unit-0\nready\n', 'got word\n']);
    streams.close();
    await driver.remove(room.id);
    expect(await tested.containers()).toBe('');
    expect(await processesMarked(allocationMarker, room.allocation)).toEqual([]);
  }, 90_000);
});
