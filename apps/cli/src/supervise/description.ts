/** A process that `capstan up` keeps running. */
export interface ProcessDescription {
  /** The prefix of each of its lines, and its name in `capstan status`. */
  readonly name: string;
  readonly command: Command;
  /** Processes that must have been ready once before this one starts. They end after it. They come earlier in the table. */
  readonly needs?: readonly string[];
  /** Whether the others go on without it if it cannot start. */
  readonly optional?: boolean;
}

export type Command =
  /** This same program, started the same way. It sends a `ReadyMessage`, and ends when its supervisor dies. */
  | { readonly type: 'own'; readonly args: readonly string[] }
  /** Any other program. It is ready when all of its ports accept connections. */
  | {
      readonly type: 'foreign';
      readonly program: string;
      readonly args: readonly string[];
      readonly environment?: Readonly<Record<string, string>>;
      readonly ports?: readonly Port[];
      readonly health?: HealthCheck;
    };

export interface Port {
  /** The service there: `https`, `health`. */
  readonly name: string;
  readonly host: string;
  readonly port: number;
}

/** A URL that answers with 2xx while the process is healthy. */
export interface HealthCheck {
  readonly url: string;
  /** The file with the authority of its certificate. */
  readonly authorityFile?: string;
}

/** Sent by a process of this program to its supervisor once it serves. */
export interface ReadyMessage {
  readonly type: 'ready';
  readonly url: string;
  readonly kubeconfigPath: string;
  readonly ports: readonly Port[];
  /** Absent if the process listens nowhere. */
  readonly health?: HealthCheck;
}

/** Tells the supervisor, if there is one, that this process serves. */
export function announceReady(message: Omit<ReadyMessage, 'type'>): void {
  process.send?.({ type: 'ready', ...message } satisfies ReadyMessage);
}
