import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import type { RoomState, RoomStreams, UnitDriver, UnitRoom } from '../units/drivers/driver.ts';

/** A driver under test. */
export interface DriverUnderTest {
  /** A driver as a restarted agent would make it. */
  readonly renew: () => Promise<UnitDriver>;
  /** Fields that every room needs, such as an image. */
  readonly base?: Partial<UnitRoom>;
  /** A command that answers every line on a port of 127.0.0.1 with the same line. */
  readonly echoServer: (port: number) => readonly string[];
  /** Why units are not isolated here. */
  readonly unisolated?: string;
}

/** Rooms and looks at them, for tests. Every room is removed by `clean`. */
export class TestRooms {
  readonly #tested: DriverUnderTest;
  readonly #ids: string[] = [];

  constructor(tested: DriverUnderTest) {
    this.#tested = tested;
  }

  room(command: readonly string[], more: Partial<UnitRoom> = {}): UnitRoom {
    const id = `test-${randomUUID()}`;
    this.#ids.push(id);
    return {
      id,
      allocation: randomUUID(),
      hostname: 'unit-0',
      command,
      environment: {},
      mounts: [],
      network: 'None',
      tty: false,
      cpu: 0,
      memory: 0,
      devices: [],
      ...this.#tested.base,
      ...more,
    };
  }

  shell(script: string, more: Partial<UnitRoom> = {}): UnitRoom {
    return this.room(['/bin/sh', '-c', script], more);
  }

  /** Prepares and starts a room. */
  async start(room: UnitRoom, incarnation = 0): Promise<UnitRoom> {
    const driver = await this.#tested.renew();
    await driver.prepare(room, { onStep: () => {}, signal: AbortSignal.timeout(60_000) });
    await driver.start(room, incarnation);
    return room;
  }

  /** Starts a room, waits for its end, and returns the state and the output. */
  async run(room: UnitRoom): Promise<{ readonly state: RoomState; readonly stdout: string; readonly stderr: string }> {
    await this.start(room);
    const state = await this.ended(room);
    return { state, stdout: await this.output(room, 'stdout'), stderr: await this.output(room, 'stderr') };
  }

  /** The standard output of a script in a room of its own. */
  async printed(script: string, more: Partial<UnitRoom> = {}): Promise<string> {
    return (await this.run(this.shell(script, more))).stdout;
  }

  async ended(room: UnitRoom, incarnation = 0): Promise<RoomState> {
    const driver = await this.#tested.renew();
    for (;;) {
      const state = await driver.find(room.id, incarnation);
      if (state !== undefined && state.phase !== 'running') return state;
      await driver.changed(room.id, incarnation, AbortSignal.timeout(20_000));
    }
  }

  async lines(room: UnitRoom, incarnation = 0): Promise<string[]> {
    const log = await (await this.#tested.renew()).log(room.id, incarnation);
    const texts = await Promise.all((log?.files ?? []).map((file) => readFile(file, 'utf8')));
    return texts.join('').split('\n').filter(Boolean);
  }

  /** One stream as the program wrote it. */
  async output(room: UnitRoom, stream: 'stdout' | 'stderr', incarnation = 0): Promise<string> {
    const parts = (await this.lines(room, incarnation)).map((line) => /^(\S+) (\S+) ([FP]) (.*)$/s.exec(line)!);
    return parts
      .filter((part) => part[2] === stream)
      .map((part) => (part[3] === 'F' ? `${part[4]}\n` : part[4]!))
      .join('');
  }

  async untilPrinted(room: UnitRoom, wanted: string): Promise<void> {
    while (!(await this.output(room, 'stdout')).includes(wanted)) await sleep(10);
  }

  /** Runs a command inside and returns what it said. */
  async exec(
    room: UnitRoom,
    script: string,
  ): Promise<{ readonly code: number | undefined; readonly stdout: string; readonly stderr: string }> {
    const driver = await this.#tested.renew();
    const streams = await driver.exec(room.id, { command: ['/bin/sh', '-c', script], stdin: false, tty: false });
    const [stdout, stderr, code] = await Promise.all([text(streams.stdout), text(streams.stderr!), streams.exited]);
    return { code, stdout, stderr };
  }

  async clean(): Promise<void> {
    const driver = await this.#tested.renew();
    for (const id of this.#ids.splice(0)) await driver.remove(id);
  }
}

/** Reads until the text has appeared; returns everything so far. */
export async function untilRead(streams: RoomStreams, wanted: string): Promise<string> {
  let seen = '';
  for await (const chunk of streams.stdout.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    seen += chunk.toString();
    if (seen.includes(wanted)) return seen;
  }
  throw new Error(`the output ended without ${JSON.stringify(wanted)}: ${JSON.stringify(seen)}`);
}
