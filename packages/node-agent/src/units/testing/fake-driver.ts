import type { Duplex } from 'node:stream';
import { PassThrough } from 'node:stream';
import type { RoomCommand, RoomLog, RoomState, RoomStreams, RoomUsage, StartOptions, UnitDriver, UnitRoom } from '../drivers/driver.ts';

interface FakeRoom {
  readonly room: UnitRoom;
  state: RoomState;
  readonly waiting: Set<() => void>;
}

const time = '2031-01-01T00:00:00Z';

/** Programs that tests start, end and lose as they like. It outlives engines, as real ones do. */
export class FakeDriver implements UnitDriver {
  readonly name = 'exec';
  readonly isolation = 'full';
  /** All starts, as `id incarnation`. */
  readonly starts: string[] = [];
  /** The same for starts that have begun, and may wait for their permission. */
  readonly begun: string[] = [];
  readonly rooms = new Map<string, FakeRoom>();
  readonly logs = new Map<string, RoomLog>();
  /** Called in place of a start that should go wrong. */
  onPrepare: UnitDriver['prepare'] = async () => {};
  onStart: (room: UnitRoom) => Promise<void> = async () => {};
  onExec: (command: RoomCommand) => RoomStreams = () => {
    throw new Error('no commands here');
  };
  onConnect: (port: number) => Promise<Duplex> = async () => {
    throw new Error('connection refused');
  };
  onUsage: () => RoomUsage | undefined = () => undefined;
  onStop: (id: string) => Promise<void> = async () => {};

  async prepare(room: UnitRoom, options: Parameters<UnitDriver['prepare']>[1]): Promise<void> {
    await this.onPrepare(room, options);
  }

  async start(room: UnitRoom, incarnation: number, { permitted }: StartOptions = {}): Promise<void> {
    const key = `${room.id} ${incarnation}`;
    if (this.rooms.has(key)) throw new Error(`${key} was started before`);
    this.begun.push(key);
    await permitted;
    await this.onStart(room);
    this.starts.push(key);
    this.rooms.set(key, { room, state: { phase: 'running', pid: 1 + this.starts.length, startedAt: time }, waiting: new Set() });
  }

  async find(id: string, incarnation: number): Promise<RoomState | undefined> {
    return this.rooms.get(`${id} ${incarnation}`)?.state;
  }

  async changed(id: string, incarnation: number, signal: AbortSignal): Promise<void> {
    const room = this.rooms.get(`${id} ${incarnation}`);
    if (signal.aborted || room?.state.phase !== 'running') return;
    await new Promise<void>((resolve) => {
      room.waiting.add(resolve);
      signal.addEventListener('abort', () => resolve(), { once: true });
    });
  }

  /** Ends the latest program of a unit. */
  exit(id: string, code: number): void {
    const reason = code === 0 ? 'Completed' : 'Error';
    this.#become(id, { phase: 'exited', code, reason, startedAt: time, finishedAt: time });
  }

  lose(id: string, message: string): void {
    this.#become(id, { phase: 'lost', message });
  }

  async stop(id: string): Promise<void> {
    await this.onStop(id);
    for (const [key, { state }] of this.rooms) if (key.startsWith(`${id} `) && state.phase === 'running') this.exit(id, 143);
  }

  async log(id: string, incarnation: number): Promise<RoomLog | undefined> {
    return this.logs.get(`${id} ${incarnation}`);
  }

  async exec(_id: string, command: RoomCommand): Promise<RoomStreams> {
    return this.onExec(command);
  }

  async attach(_id: string, options: { readonly stdin: boolean }): Promise<RoomStreams> {
    return this.onExec({ command: ['attach'], stdin: options.stdin, tty: false });
  }

  async connect(_id: string, port: number): Promise<Duplex> {
    return this.onConnect(port);
  }

  async usage(): Promise<RoomUsage | undefined> {
    return this.onUsage();
  }

  async remove(id: string): Promise<void> {
    for (const key of this.rooms.keys()) if (key.startsWith(`${id} `)) this.rooms.delete(key);
  }

  async list(): Promise<string[]> {
    return [...new Set([...this.rooms.keys()].map((key) => key.split(' ')[0]!))];
  }

  #become(id: string, state: RoomState): void {
    const [, room] = [...this.rooms].filter(([key]) => key.startsWith(`${id} `)).at(-1) ?? [];
    if (room === undefined) throw new Error(`${id} was never started`);
    room.state = state;
    for (const resolve of room.waiting) resolve();
    room.waiting.clear();
  }
}

/** A command that repeats its input, and ends with a code once its input has ended. */
export function echoing(code: number): RoomStreams & { readonly sizes: object[]; readonly isClosed: () => boolean } {
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  const sizes: object[] = [];
  let isClosed = false;
  const exited = Promise.withResolvers<number>();
  stdin.pipe(stdout);
  stdin.once('end', () => {
    stderr.end('bye');
    exited.resolve(code);
  });
  return {
    stdin,
    stdout,
    stderr,
    exited: exited.promise,
    sizes,
    isClosed: () => isClosed,
    resize: (size) => void sizes.push(size),
    close: () => void (isClosed = true),
  };
}
