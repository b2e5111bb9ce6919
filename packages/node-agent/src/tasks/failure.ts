import type { NodeTaskStatus, TaskError } from '@capstan/api';
import { ConnectionError } from '@capstan/client';

/** The errors of tasks. `userFixable`: the person who asked can fix it. `retryable`: trying again may help. */
const catalogue = {
  Cancelled: { userFixable: false, retryable: true },
  DeadlineExceeded: { userFixable: true, retryable: true },
  /** The agent died while the task ran, and its type does not allow to guess how far it came. */
  Interrupted: { userFixable: false, retryable: true },
  InvalidParameters: { userFixable: true, retryable: false },
  UnknownType: { userFixable: true, retryable: false },
  UnknownScript: { userFixable: true, retryable: false },
  UnknownSecret: { userFixable: true, retryable: false },
  ScriptChanged: { userFixable: true, retryable: false },
  UnknownArtifact: { userFixable: true, retryable: false },
  ChecksumMismatch: { userFixable: false, retryable: true },
  CommandFailed: { userFixable: true, retryable: true },
  /** Something of an allocation is left on the node. */
  NotClean: { userFixable: false, retryable: true },
  NotPermitted: { userFixable: false, retryable: false },
  NotSupported: { userFixable: false, retryable: false },
  DiskFull: { userFixable: false, retryable: true },
  /** A script or a Secret could not be read, as no server answered. */
  ControlPlaneUnreachable: { userFixable: false, retryable: true },
  /** Everything that nobody foresaw. */
  Internal: { userFixable: false, retryable: true },
} as const satisfies Readonly<Record<string, Pick<TaskError, 'userFixable' | 'retryable'>>>;

export type TaskErrorCode = keyof typeof catalogue;

export interface FailureDetails {
  readonly exitCode?: number;
  readonly report?: NonNullable<NodeTaskStatus['report']>;
}

/** Why a task failed. */
export class TaskFailure extends Error {
  override readonly name = 'TaskFailure';
  readonly code: TaskErrorCode;
  readonly exitCode: number | undefined;
  readonly report: NodeTaskStatus['report'];

  constructor(code: TaskErrorCode, message: string, options: ErrorOptions & FailureDetails = {}) {
    super(message, options);
    this.code = code;
    this.exitCode = options.exitCode;
    this.report = options.report;
  }
}

const systemCodes: Readonly<Record<string, TaskErrorCode>> = {
  ENOSPC: 'DiskFull',
  EDQUOT: 'DiskFull',
  EACCES: 'NotPermitted',
  EPERM: 'NotPermitted',
  EROFS: 'NotPermitted',
};

/** Any error, as a failure of a task. */
export function asFailure(error: unknown): TaskFailure {
  if (error instanceof TaskFailure) return error;
  if (error instanceof ConnectionError) return new TaskFailure('ControlPlaneUnreachable', error.message, { cause: error });
  if (!(error instanceof Error)) return new TaskFailure('Internal', String(error));
  const { code } = error as NodeJS.ErrnoException;
  return new TaskFailure((code && systemCodes[code]) || 'Internal', error.message, { cause: error });
}

const longestMessage = 4096;

/** A failure as it appears in the status of a task. */
export function errorStatus({ code, message }: TaskFailure): TaskError {
  return { code, message: message.slice(0, longestMessage), ...catalogue[code] };
}
