import type { BoxOutput } from './box-output.ts';
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
  readonly log: LogBounds & { readonly path: string };
}

/** The output of a program is kept in so many files of so many bytes. */
export interface LogBounds {
  readonly files: number;
  readonly bytes: number;
}

/** Namespaces to enter: those at a path, or those of another container. */
export type BoxNamespace = { readonly path: string } | { readonly container: string };

export interface BoxNamespaces {
  /** `host` is that of the node. */
  readonly network: 'host' | BoxNamespace;
  readonly processes: BoxNamespace;
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
  /** The folder on the node that holds the files that the program changes; undefined if the engine has no such folder. */
  readonly layer?: string;
  /** Folders on the node that the engine has made for volumes of the image. */
  readonly volumes: readonly string[];
}

/** Where an engine keeps images and containers. */
export interface EngineStorage {
  readonly folder: string;
  /** Why the layers of its containers are not folders that can be limited; undefined if they are. */
  readonly whyNoLayers: string | undefined;
}

/** The ways in which the APIs of engines differ. Paths of exec, attach, kill and resize are the same below `prefix`. */
export interface Dialect {
  readonly engine: 'Podman' | 'Docker';
  readonly prefix: string;
  /** Of the request that pulls images, which is Docker's in both. */
  readonly pullPrefix: string;
  create(engine: Engine, spec: BoxSpec): Promise<void>;
  /** Makes everything of a container but its program, for which a process waits already; absent if the engine does that at the start only. */
  init?(engine: Engine, name: string): Promise<void>;
  inspect(engine: Engine, name: string): Promise<BoxState | undefined>;
  hasImage(engine: Engine, image: string): Promise<boolean>;
  remove(engine: Engine, name: string): Promise<void>;
  /** Makes a container that is never started. */
  createIdle(engine: Engine, container: { readonly name: string; readonly image: string }, signal: AbortSignal): Promise<void>;
  /** Where the output of a container is. */
  output(engine: Engine, box: { readonly name: string; readonly folder: string; readonly log: LogBounds }): BoxOutput;
}

/** Rights that programs in images usually expect of root, and that lead nowhere outside. */
export const capabilities = ['CHOWN', 'DAC_OVERRIDE', 'FOWNER', 'FSETID', 'KILL', 'NET_BIND_SERVICE', 'SETGID', 'SETUID'];
