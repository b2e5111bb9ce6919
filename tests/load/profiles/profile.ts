import type { Connection } from '@capstan/testbed';

/** A measured server. */
export interface Subject {
  readonly name: string;
  readonly address: Connection;
  /** The server and its store. */
  readonly pids: readonly number[];
  /** Undefined if we cannot stop it. */
  readonly restartable?: Restartable;
}

export interface Restartable {
  stop(): Promise<void>;
  /** Resolves when ready. */
  start(): Promise<void>;
  /** Those of the last start. */
  readonly pids: readonly number[];
}

export interface Amounts {
  readonly clients: number | undefined;
  readonly count: number | undefined;
  /** How many CustomResourceDefinitions or exports, for profiles that create many. */
  readonly definitions: number | undefined;
  readonly seconds: number;
}

/** One number by which two servers can be compared. */
export interface Measurement {
  readonly what: string;
  readonly value: number;
  readonly unit: 'per second' | 'ms' | 'KiB' | 'MB' | 'count' | 's' | '%';
  readonly better: 'higher' | 'lower';
}

export type Profile = (subject: Subject, amounts: Amounts) => Promise<Measurement[]>;

let namespaces = 0;

export function freshNamespace(): string {
  return `load-${Date.now().toString(36)}-${process.pid}-${++namespaces}`;
}
