import type { Readable, Writable } from 'node:stream';
import type { WireReader } from '../wire/reader.ts';
import type { Channel } from './channel.ts';

const mostVariables = 256;
const longestVariables = 64 << 10;

export interface TerminalSize {
  readonly columns: number;
  readonly rows: number;
}

export type SessionProgram =
  | { readonly kind: 'shell' }
  /** A command line for a shell. */
  | { readonly kind: 'exec'; readonly command: string }
  | { readonly kind: 'subsystem'; readonly name: string };

/** A command that the client wants to run. */
export interface SessionStart {
  readonly program: SessionProgram;
  /** Undefined if the client wants no terminal. */
  readonly terminal: (TerminalSize & { readonly type: string }) | undefined;
  readonly environment: ReadonlyMap<string, string>;
  readonly input: Readable;
  readonly output: Writable;
  readonly errors: Writable;
}

export interface SessionCommand {
  /** Settles when all output was written. */
  readonly exited: Promise<number>;
  resize(size: TerminalSize): void;
  /** `INT`, `TERM` and so on. */
  signal(name: string): void;
  /** The client has left. */
  close(): void;
}

export type StartSession = (start: SessionStart) => Promise<SessionCommand>;

/** As OpenSSH exits if it could not run the command. */
const notRun = 255;

/** The requests of one session channel (RFC 4254, section 6). A session runs one command. */
export class Session {
  readonly #channel: Channel;
  readonly #start: StartSession;
  readonly #environment = new Map<string, string>();
  #variableBytes = 0;
  #terminal: SessionStart['terminal'];
  #command: Promise<SessionCommand> | undefined;

  constructor(channel: Channel, start: StartSession) {
    this.#channel = channel;
    this.#start = start;
  }

  /** Whether the request is granted. */
  request(type: string, reader: WireReader): boolean {
    switch (type) {
      case 'pty-req':
        return this.#setTerminal(reader);
      case 'window-change':
        return this.#resize(sizeOf(reader));
      case 'env':
        return this.#setVariable(reader.text(), reader.text());
      case 'signal':
        return this.#signal(reader.text());
      case 'shell':
        return this.#run({ kind: 'shell' });
      case 'exec':
        return this.#run({ kind: 'exec', command: reader.text() });
      case 'subsystem':
        return this.#run({ kind: 'subsystem', name: reader.text() });
      default:
        return false;
    }
  }

  #setTerminal(reader: WireReader): boolean {
    const type = reader.text();
    const size = sizeOf(reader);
    reader.string();
    if (this.#command !== undefined) return false;
    this.#terminal = { type, ...size };
    return true;
  }

  #resize(size: TerminalSize): boolean {
    if (this.#terminal === undefined) return false;
    this.#terminal = { ...this.#terminal, ...size };
    void this.#command?.then((command) => command.resize(size)).catch(() => {});
    return true;
  }

  #setVariable(name: string, value: string): boolean {
    if (this.#command !== undefined || !/^[A-Za-z_][A-Za-z0-9_]*$/.test(name) || value.includes('\0')) return false;
    this.#variableBytes += name.length + value.length;
    if (this.#environment.size >= mostVariables || this.#variableBytes > longestVariables) return false;
    this.#environment.set(name, value);
    return true;
  }

  #signal(name: string): boolean {
    if (this.#command === undefined || !/^[A-Z0-9]{1,12}$/.test(name)) return false;
    void this.#command.then((command) => command.signal(name)).catch(() => {});
    return true;
  }

  #run(program: SessionProgram): boolean {
    if (this.#command !== undefined) return false;
    const { errors } = this.#channel;
    const start = {
      program,
      terminal: this.#terminal,
      environment: this.#environment,
      input: this.#channel,
      output: this.#channel,
      errors,
    };
    const command = this.#start(start);
    this.#command = command;
    this.#channel.once('close', () => void command.then((one) => one.close()).catch(() => {}));
    void command
      .then(({ exited }) => exited)
      .then(
        (code) => this.#channel.finish(code),
        (error: Error) => {
          errors.write(`${error.message}\n`);
          return this.#channel.finish(notRun);
        },
      );
    return true;
  }
}

function sizeOf(reader: WireReader): TerminalSize {
  const size = { columns: reader.uint32(), rows: reader.uint32() };
  reader.bytes(8);
  return size;
}
