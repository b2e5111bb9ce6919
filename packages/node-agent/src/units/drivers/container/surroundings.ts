import type { Duplex } from 'node:stream';
import type { UnitDriver, UnitRoom } from '../driver.ts';
import type { BoxNamespaces } from './dialect.ts';

/** Containers can be created with these namespaces, and started once they are ready. */
export interface OpenedSurroundings {
  readonly namespaces: BoxNamespaces;
  readonly ready: Promise<{ readonly address?: string }>;
}

/** Everything around a container that outlives neither it nor its unit: its network, and the wait for its end. */
export interface Surroundings {
  prepare(room: UnitRoom, options: Parameters<UnitDriver['prepare']>[1]): Promise<void>;
  /** Makes the namespaces that the container enters. Those at paths have their places in the folder. */
  open(room: UnitRoom, incarnation: number, folder: string): Promise<OpenedSurroundings>;
  /** The program of the container runs as this process of the node. */
  follow(id: string, pid: number): Promise<void>;
  /** Whether the program can be running; undefined if only the engine knows. */
  isAlive(id: string, incarnation: number): Promise<boolean | undefined>;
  address(id: string, incarnation: number): Promise<string | undefined>;
  /** Resolves as soon as the program has ended, or when the signal aborts. */
  ended(id: string, signal: AbortSignal): Promise<void>;
  /** Resolves when everything else has ended with the program, or when the signal aborts. */
  changed(id: string, incarnation: number, signal: AbortSignal): Promise<void>;
  /** Ends everything that the program has left behind. */
  end(id: string): Promise<void>;
  connect(id: string, port: number): Promise<Duplex>;
  remove(id: string): Promise<void>;
  list(): Promise<string[]>;
}
