import type { UnreachableGpu } from '@capstan/api';

/** Why GPUs could not be read. Nothing is known of them then: no such error means that a GPU is gone. */
export const gpuErrorCodes = {
  /** The tool could not be started. */
  ToolMissing: 'the tool cannot be started',
  /** The tool did not end in time and was killed. */
  ToolTimeout: 'the tool does not answer',
  /** An earlier run of the tool has not ended, although it was killed. */
  ToolStuck: 'an earlier run of the tool has not ended',
  /** The tool printed more than any machine has GPUs for. */
  OutputTooLarge: 'the output is too large',
  /** The driver is not loaded, or the agent may not use it. */
  DriverUnavailable: 'the driver cannot be used',
  /** The driver is there and shows no GPU. */
  NoDevices: 'no GPUs were found',
  /** The tool does not know a field of the query. */
  UnknownField: 'the tool does not know a field',
  /** Single GPUs are lost, and the tool printed nothing about the others. */
  Unreachable: 'GPUs cannot be reached',
  /** The output ends too early, or its parts contradict each other. */
  Incomplete: 'the output is incomplete',
  /** The output is not in the format that is expected. */
  Malformed: 'the output cannot be understood',
  /** The tool failed for another reason. */
  ToolFailed: 'the tool failed',
} as const;

export type GpuErrorCode = keyof typeof gpuErrorCodes;

export interface GpuErrorDetails {
  /** The GPUs that the tool named as lost. */
  readonly unreachable?: readonly UnreachableGpu[];
  /** The field that the tool does not know. */
  readonly field?: string;
  readonly cause?: unknown;
}

export class GpuError extends Error {
  readonly code: GpuErrorCode;
  readonly unreachable: readonly UnreachableGpu[];
  readonly field: string | undefined;

  /** `what` names the tool or file, what was expected and what was found. */
  constructor(code: GpuErrorCode, what: string, { unreachable = [], field, cause }: GpuErrorDetails = {}) {
    super(`${gpuErrorCodes[code]}: ${what}`, { cause });
    this.name = 'GpuError';
    this.code = code;
    this.unreachable = unreachable;
    this.field = field;
  }
}

/** A part of a tool's output for a message: one line, not too long, without terminal escapes. */
export function excerpt(text: string): string {
  const line = text.replaceAll(/\p{Cc}+/gu, ' ').trim();
  return line.length > 160 ? `${line.slice(0, 160)}…` : line;
}
