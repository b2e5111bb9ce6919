import type { Duplex, Readable } from 'node:stream';
import type { UnitNetwork, UnitReason } from '@capstan/api';
import type { ContainerLog } from '@capstan/streams';

/** One start of a unit, with everything resolved: no references to secrets, storages or ranks are left. */
export interface UnitRoom {
  /** Name of the NodeUnit: letters, digits and dashes; never used twice. */
  readonly id: string;
  /** UID of the allocation. Everything that the unit leaves behind is marked with it, so that `node.clean` finds it. */
  readonly allocation: string;
  readonly hostname: string;
  readonly image?: string;
  /** Credentials for the registry of the image, as in a Secret of the type kubernetes.io/dockerconfigjson. */
  readonly pullConfig?: string;
  /** Empty only with an image, which then says what to run. */
  readonly command: readonly string[];
  /** For the program of the image; only without a command. */
  readonly args?: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly workingDirectory?: string;
  /** A folder on the node with uploaded files; the program sees it at `uploadPath` and may write there. */
  readonly uploads?: string;
  readonly mounts: readonly RoomMount[];
  readonly network: UnitNetwork;
  readonly tty: boolean;
  /** Thousandths of a core, and bytes; 0 means no limit. */
  readonly cpu: number;
  readonly memory: number;
  readonly devices: readonly RoomDevice[];
}

/** Where programs find uploaded files. */
export const uploadPath = '/workspace';

/** The environment variable that drivers set to the id of the unit, so that its processes are found without anything else. */
export const unitMarker = 'CAPSTAN_UNIT';

export interface RoomMount {
  /** A folder on the node. */
  readonly source: string;
  /** An absolute path inside. */
  readonly path: string;
  readonly readOnly: boolean;
  /** Units on other nodes use the folder, too, so its files must not change hands. */
  readonly isShared?: boolean;
}

/** A GPU that the program may use, and nothing else of its kind. */
export interface RoomDevice {
  /** Of the GPU or the MIG instance. */
  readonly uuid: string;
  readonly vendor: 'nvidia' | 'amd' | 'declared';
  readonly files: readonly string[];
}

export type RoomState =
  | {
      readonly phase: 'running';
      readonly pid: number;
      readonly startedAt: string;
      readonly address?: string;
      readonly container?: string /** A sentence about something that the program asked for and does not have. */;
      readonly notice?: string;
    }
  | {
      readonly phase: 'exited';
      /** 128 and more after a signal. */
      readonly code: number;
      readonly reason: Extract<UnitReason, 'Completed' | 'Error' | 'OutOfMemory'>;
      readonly startedAt: string;
      readonly finishedAt: string;
    }
  /** It was prepared or started, and nobody knows how it ended. */
  | { readonly phase: 'lost'; readonly message: string };

/** The reason why a unit cannot start, from a driver or the agent. `isFinal`: trying again will not help. */
export class UnitProblem extends Error {
  override readonly name = 'UnitProblem';
  readonly reason: UnitReason;
  readonly isFinal: boolean;

  constructor(reason: UnitReason, message: string, options: ErrorOptions & { readonly isFinal?: boolean } = {}) {
    super(message, options);
    this.reason = reason;
    this.isFinal = options.isFinal ?? false;
  }
}

/** A running command inside a unit, or its main program when one attaches to it. */
export interface RoomStreams {
  readonly stdin?: Duplex | NodeJS.WritableStream;
  /** With a terminal, everything comes here. */
  readonly stdout: Readable;
  readonly stderr?: Readable;
  /** Resolves with the exit code of the command; of the main program for attach, or undefined if the client left first. */
  readonly exited: Promise<number | undefined>;
  resize?(size: { readonly columns: number; readonly rows: number }): void;
  /** Ends the command; only lets go of the main program. */
  close(): void;
}

export interface RoomCommand {
  readonly command: readonly string[];
  readonly stdin: boolean;
  readonly tty: boolean;
}

/** The use of resources since the start. */
export interface RoomUsage {
  readonly cpuSeconds: number;
  readonly memoryBytes: number;
}

export interface StartOptions {
  /** The program must not start before this resolves; everything around it is made meanwhile. If it rejects, so does the start. */
  readonly permitted?: Promise<void>;
}

/** Where the output of one run of the program is. */
export type RoomLog = ContainerLog;

/**
 * Runs the programs of units. A program, its output and its exit code outlive the agent. Every driver passes `suite/unit-driver.ts`. `incarnation`
 * counts the starts by the restart policy, from 0.
 */
export interface UnitDriver {
  readonly name: 'exec' | 'container';
  /** How much of the isolation this machine offers; the reason is a sentence. Undefined: the driver cannot be used, and `why` says what is missing. */
  readonly isolation: 'full' | 'none' | undefined;
  readonly why?: string;
  /** Pulls an image and whatever else takes time. Can be repeated. Rejects with a UnitProblem. */
  prepare(room: UnitRoom, options: { readonly onStep: (step: string) => void; readonly signal: AbortSignal }): Promise<void>;
  /** Gives the files of an image to a function, as a tar archive. Rejects with a UnitProblem, or like the function. Absent without images. */
  imageFiles?<T>(image: string, use: (archive: Readable) => Promise<T>, signal: AbortSignal): Promise<T>;
  /** Resolves once the program has started. Rejects with a UnitProblem, and then nothing runs. Never starts the same incarnation twice. */
  start(room: UnitRoom, incarnation: number, options?: StartOptions): Promise<void>;
  /** Undefined if there is no record of it. */
  find(id: string, incarnation: number): Promise<RoomState | undefined>;
  /** Resolves at the next change of the state, or when the signal aborts. */
  changed(id: string, incarnation: number, signal: AbortSignal): Promise<void>;
  /** Ends the program and everything that it started: politely, and after the grace, in milliseconds, by force. Resolves when nothing is left. */
  stop(id: string, grace: number): Promise<void>;
  log(id: string, incarnation: number): Promise<RoomLog | undefined>;
  exec(id: string, command: RoomCommand): Promise<RoomStreams>;
  attach(id: string, options: { readonly stdin: boolean }): Promise<RoomStreams>;
  /** A connection to a port inside the unit, also if the program listens on loopback only. */
  connect(id: string, port: number): Promise<Duplex>;
  usage(id: string): Promise<RoomUsage | undefined>;
  /** Ends what is left and deletes every trace but the mounts and uploads. Can be repeated. */
  remove(id: string): Promise<void>;
  /** The ids of all units that have a trace on this machine. */
  list(): Promise<string[]>;
}
