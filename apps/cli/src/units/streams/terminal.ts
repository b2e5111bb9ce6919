import type { ReadStream, WriteStream } from 'node:tty';
import type { CommandResult, RemoteCommand } from './command.ts';

/** Leaves the program running. As in telnet. */
const leaveKey = 0x1d;

export interface TerminalOptions {
  readonly tty: boolean;
  /** Whether Ctrl-] leaves without ending the program. */
  readonly canLeave?: boolean;
  readonly stdin?: NodeJS.ReadStream;
  readonly stdout?: NodeJS.WriteStream;
}

/** Whether both ends of a terminal are there. */
export const hasTerminal = (): boolean => process.stdin.isTTY === true && process.stdout.isTTY === true;

/**
 * Connects the terminal, or the input, of this process with a command until the command has ended. Undefined if the user left. The terminal is as before
 * afterwards, whatever happens.
 */
export async function converse(command: RemoteCommand, options: TerminalOptions): Promise<CommandResult | undefined> {
  const { tty, canLeave = false, stdin = process.stdin, stdout = process.stdout } = options;
  using terminal = tty && stdin.isTTY === true ? rawTerminal(stdin, stdout, command) : undefined;
  const left = Promise.withResolvers<undefined>();
  const onData = (bytes: Buffer): void => {
    const leaveAt = canLeave && terminal !== undefined ? bytes.indexOf(leaveKey) : -1;
    if (leaveAt >= 0) {
      command.close();
      return left.resolve(undefined);
    }
    if (command.input(bytes)) return;
    stdin.pause();
    command.drained(() => stdin.resume());
  };
  const onEnd = (): void => command.endInput();
  stdin.on('data', onData).once('end', onEnd);
  stdin.resume();
  try {
    return await Promise.race([command.result, left.promise]);
  } finally {
    stdin.off('data', onData).off('end', onEnd);
    stdin.pause();
    // A pipe that nobody ends would keep this process alive.
    stdin.unref?.();
  }
}

function rawTerminal(stdin: NodeJS.ReadStream, stdout: NodeJS.WriteStream, command: RemoteCommand): Disposable {
  const onResize = (): void => command.resize(stdout.columns, stdout.rows);
  (stdin as ReadStream).setRawMode(true);
  (stdout as WriteStream).on('resize', onResize);
  const restore = (): void => void (stdin as ReadStream).setRawMode(false);
  process.once('exit', restore);
  onResize();
  return {
    [Symbol.dispose]() {
      process.off('exit', restore);
      (stdout as WriteStream).off('resize', onResize);
      restore();
    },
  };
}
