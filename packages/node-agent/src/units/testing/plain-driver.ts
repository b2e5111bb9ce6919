import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { stat } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { marker } from '../../processes/proc.ts';
import { Supervisor } from '../../processes/supervisor.ts';
import type { RoomCommand, RoomLog, RoomState, RoomStreams, RoomUsage, StartOptions, UnitDriver, UnitRoom } from '../drivers/driver.ts';

/** Adds a time and a stream to each line, and ends like the command. */
const prefixer = `
use strict; use POSIX qw(strftime); use Time::HiRes qw(gettimeofday);
$| = 1; $SIG{TERM} = 'IGNORE';
pipe(my $read, my $write) or die;
my $pid = fork // die;
if ($pid == 0) { $SIG{TERM} = 'DEFAULT'; open STDOUT, '>&', $write; open STDERR, '>&', $write; close $read; exec { $ARGV[0] } @ARGV or exit 127 }
close $write;
while (my $line = <$read>) {
  chomp $line;
  my ($s, $u) = gettimeofday;
  print strftime('%Y-%m-%dT%H:%M:%S', gmtime $s) . sprintf('.%06d000Z stdout F ', $u) . $line . "\\n";
}
waitpid $pid, 0;
exit($? & 127 ? 128 + ($? & 127) : $? >> 8);
`;

/** Runs units as plain processes of the same user, for tests of everything around drivers. */
export class PlainDriver implements UnitDriver {
  readonly name = 'exec';
  isolation: UnitDriver['isolation'] = 'none';
  readonly why = 'it is for tests';
  readonly #processes: Supervisor;
  readonly #directory: string;

  constructor(directory: string) {
    this.#directory = directory;
    this.#processes = new Supervisor({ directory, groups: undefined });
  }

  async prepare(): Promise<void> {}

  async start({ id, command, environment }: UnitRoom, incarnation: number, { permitted }: StartOptions = {}): Promise<void> {
    await permitted;
    const words = ['perl', '-e', prefixer, ...command] as const;
    const mark = { [`${marker}_UNIT`]: id };
    await this.#processes.start({
      id: `${id}-${incarnation}`,
      command: words,
      environment: { ...environment, ...mark },
      outputLimit: 1 << 20,
    });
  }

  async find(id: string, incarnation: number): Promise<RoomState | undefined> {
    const key = `${id}-${incarnation}`;
    const found = await this.#processes.find(key);
    if (found === undefined) return undefined;
    if (found.phase === 'lost') return { phase: 'lost', message: found.reason };
    const startedAt = await this.#time(key, 'pid');
    if (found.phase === 'running') return { phase: 'running', pid: found.pid, startedAt, address: '127.0.0.1' };
    const { code } = found;
    return { phase: 'exited', code, reason: code === 0 ? 'Completed' : 'Error', startedAt, finishedAt: await this.#time(key, 'exit') };
  }

  async changed(id: string, incarnation: number, signal: AbortSignal): Promise<void> {
    while (!signal.aborted && (await this.find(id, incarnation))?.phase === 'running')
      await sleep(20, undefined, { signal }).catch(() => {});
  }

  async stop(id: string, grace: number): Promise<void> {
    for (const key of await this.#keys(id)) await this.#processes.kill(key, grace);
  }

  async log(id: string, incarnation: number): Promise<RoomLog | undefined> {
    const key = `${id}-${incarnation}`;
    if ((await this.#processes.find(key)) === undefined) return undefined;
    const { file, complete } = await this.#processes.output(key);
    return { files: [file], complete };
  }

  async exec(id: string, { command, stdin }: RoomCommand): Promise<RoomStreams> {
    const [program, ...args] = command as [string, ...string[]];
    const env = { PATH: process.env['PATH'], [`${marker}_UNIT`]: id };
    const child = spawn(program, args, { stdio: [stdin ? 'pipe' : 'ignore', 'pipe', 'pipe'], env });
    await once(child, 'spawn');
    const exited = once(child, 'exit').then(([code]) => (code as number | null) ?? 137);
    return { ...(child.stdin && { stdin: child.stdin }), stdout: child.stdout!, stderr: child.stderr!, exited, close: () => child.kill() };
  }

  async attach(): Promise<RoomStreams> {
    throw new Error('nothing to attach to');
  }

  async connect(_id: string, port: number): Promise<Duplex> {
    const socket = connect(port, '127.0.0.1');
    await once(socket, 'connect');
    return socket;
  }

  async usage(): Promise<RoomUsage | undefined> {
    return { cpuSeconds: 1, memoryBytes: 1 << 20 };
  }

  async remove(id: string): Promise<void> {
    await this.stop(id, 0);
    for (const key of await this.#keys(id)) await this.#processes.forget(key);
  }

  async list(): Promise<string[]> {
    return [...new Set((await this.#processes.list()).map((key) => key.slice(0, key.lastIndexOf('-'))))];
  }

  async #keys(id: string): Promise<string[]> {
    return (await this.#processes.list()).filter((key) => key.slice(0, key.lastIndexOf('-')) === id);
  }

  async #time(key: string, file: string): Promise<string> {
    const { mtime } = await stat(join(this.#directory, key, file));
    return mtime.toISOString();
  }
}
