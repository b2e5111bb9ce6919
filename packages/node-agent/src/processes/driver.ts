/** A program to run. It outlives the agent, which finds it again by its id. */
export interface ProcessSpec {
  /** Letters, digits and dashes; never used twice. */
  readonly id: string;
  readonly command: readonly [program: string, ...args: string[]];
  readonly environment?: Readonly<Record<string, string>>;
  readonly workingDirectory?: string;
  /** In bytes, rounded up to half a KiB. Further output is discarded, and the process is not told. */
  readonly outputLimit: number;
}

export type ProcessState =
  | { readonly phase: 'running'; readonly pid: number }
  | { readonly phase: 'exited'; readonly code: number }
  /** It was ended from outside, or the machine restarted: nobody knows how far it came. */
  | { readonly phase: 'lost'; readonly reason: string };

/** Where the output of a process is. */
export interface ProcessOutput {
  readonly file: string;
  /** Whether output beyond the limit was discarded. */
  readonly truncated: boolean;
  /** Whether all of it has been written: the process and everything that has its output open has ended. */
  readonly complete: boolean;
}

/**
 * Runs processes that outlive the agent. Every driver passes `suite/process-driver.ts`: systemd's transient units where systemd is, and the agent's own supervisor
 * elsewhere.
 */
export interface ProcessDriver {
  readonly name: 'systemd' | 'supervisor';
  /** Resolves once the process has started. Rejects with `ProcessExists` if the id was used before. */
  start(spec: ProcessSpec): Promise<void>;
  /** Undefined if there is no record of it. */
  find(id: string): Promise<ProcessState | undefined>;
  output(id: string): Promise<ProcessOutput>;
  /**
   * Ends the process and everything that it started: politely, and after the grace, in milliseconds, by force. Resolves when nothing is left, with whether force was needed.
   * Rejects with `ProcessesRemain` if that does not help either.
   */
  kill(id: string, grace: number): Promise<'ended' | 'forced'>;
  /** Deletes the records of a process that has ended. */
  forget(id: string): Promise<void>;
  list(): Promise<string[]>;
}

/** Thrown by `start` when the id was used before. */
export class ProcessExists extends Error {
  override readonly name = 'ProcessExists';
}

/** Thrown by `kill` when processes do not end although they were killed, such as those that wait for a disk or a driver that does not answer. */
export class ProcessesRemain extends Error {
  override readonly name = 'ProcessesRemain';
}

const idPattern = /^[a-z0-9][a-z0-9-]{0,80}$/;

/** Ids are parts of paths and of unit names. */
export function checkId(id: string): void {
  if (!idPattern.test(id)) throw new Error(`the id of a process must match ${idPattern.source}, but is ${JSON.stringify(id)}`);
}
