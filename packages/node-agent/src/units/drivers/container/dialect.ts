import type { Engine } from './engine.ts';

/** A container in words that both engines know. */
export interface BoxSpec {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly image: string;
  /** Replaces the program of the image, unless it is empty. */
  readonly command: readonly string[];
  /** For the program of the image. */
  readonly args: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly workingDirectory?: string;
  readonly hostname: string;
  readonly tty: boolean;
  readonly mounts: readonly { readonly source: string; readonly path: string; readonly readOnly: boolean }[];
  /** Device files, and names of the Container Device Interface. */
  readonly devices: readonly string[];
  /** Thousandths of a core, bytes, processes, bytes; 0 means no limit. */
  readonly cpu: number;
  readonly memory: number;
  readonly processes: number;
  readonly sharedMemory: number;
  readonly limits: readonly { readonly name: string; readonly value: number }[];
  /** A file with a filter of system calls, if not that of the engine. */
  readonly filter?: string;
  readonly namespaces: BoxNamespaces;
  readonly log: { readonly path: string; readonly bytes: number; readonly files: number };
}

export interface BoxNamespaces {
  /** The node's, none, that at a path, or a network of the engine. */
  readonly network: 'host' | 'none' | { readonly path: string } | { readonly name: string };
  /** The path of the pid namespace to enter; without it, the container gets one of its own. */
  readonly processes?: string;
}

/** A container as its engine describes it. */
export interface BoxState {
  readonly id: string;
  readonly phase: 'created' | 'running' | 'ended';
  readonly pid: number;
  readonly code: number;
  readonly outOfMemory: boolean;
  readonly startedAt: string;
  readonly finishedAt: string;
  readonly address?: string;
  readonly tty: boolean;
  readonly labels: Readonly<Record<string, string>>;
}

/** The ways in which the APIs of engines differ. Paths of exec, attach, kill and resize are the same below `prefix`. */
export interface Dialect {
  readonly engine: 'Podman' | 'Docker';
  readonly prefix: string;
  create(engine: Engine, spec: BoxSpec): Promise<void>;
  inspect(engine: Engine, name: string): Promise<BoxState | undefined>;
  hasImage(engine: Engine, image: string): Promise<boolean>;
  remove(engine: Engine, name: string): Promise<void>;
}

/** Rights that programs in images usually expect of root, and that lead nowhere outside. */
export const capabilities = ['CHOWN', 'DAC_OVERRIDE', 'FOWNER', 'FSETID', 'KILL', 'NET_BIND_SERVICE', 'SETGID', 'SETUID'];

/** States as engines print them. */
export function phaseOf(status: string): BoxState['phase'] {
  if (['running', 'paused', 'stopping', 'restarting'].includes(status)) return 'running';
  return ['exited', 'stopped', 'dead', 'removing'].includes(status) ? 'ended' : 'created';
}
