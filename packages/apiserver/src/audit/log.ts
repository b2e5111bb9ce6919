import type { Attributes } from '../authz/attributes.ts';
import { type DenialLimits, Denials, isDenied } from './denials.ts';
import { type AuditedRequest, eventLine } from './event.ts';
import { LogFile, type LogFileOptions } from './file.ts';
import { type AuditPolicy, compilePolicy, defaultPolicy, type Recording } from './policy.ts';

/** Whether an answer waits until its record is in the file, or the record may come after it. The names are those of `--audit-log-mode`. */
export type AuditMode = 'blocking' | 'batch';

export interface AuditLogOptions extends LogFileOptions {
  readonly policy?: AuditPolicy;
  /** `blocking` when absent. */
  readonly mode?: AuditMode;
  /** From when requests that are refused again and again are counted instead of being recorded one by one. */
  readonly denialLimits?: Partial<DenialLimits>;
}

export interface AuditLog extends AsyncDisposable {
  /** How a request is to be recorded; undefined when it is not. Ask once, when it is known what the request wants. */
  recordingOf(attributes: Attributes): Recording | undefined;
  /** How a request that was refused is to be recorded, when the rules alone would not record it. */
  readonly denials: Recording | undefined;
  readonly mode: AuditMode;
  /**
   * Writes one stage of a request, unless its recording leaves the stage out. Never throws, never waits; `done` is called when the record is in the file, or
   * known to be lost: requests are answered all the same.
   */
  record(request: AuditedRequest, recording: Recording, done?: () => void): void;
  /** Events that were lost because they could not be written. */
  readonly dropped: number;
  /** Requests that were refused and only counted. */
  readonly aggregated: number;
}

/**
 * The record of who did what: one JSON line per event in a file.
 *
 *     const recording = audit.recordingOf(attributes);
 *     …
 *     const how = recording ?? (code === 401 || code === 403 ? audit.denials : undefined);
 *     if (how !== undefined) audit.record({ stage: 'ResponseComplete', … }, how);
 */
export function auditLog({ policy = defaultPolicy, mode = 'blocking', denialLimits, ...fileOptions }: AuditLogOptions): AuditLog {
  const file = new LogFile(fileOptions);
  const denials = new Denials((line) => file.write(line), denialLimits);
  return {
    recordingOf: compilePolicy(policy),
    denials: policy.denials === true ? { level: 'Metadata', omitStages: [], omitManagedFields: true } : undefined,
    mode,
    record(request, recording, done) {
      if (recording.omitStages.includes(request.stage)) return done?.();
      const line = (): string => eventLine(request, recording);
      if (isDenied(request) && !denials.isRecorded(request, line)) done?.();
      else file.write(line(), done);
    },
    get dropped() {
      return file.dropped;
    },
    get aggregated() {
      return denials.counted;
    },
    async [Symbol.asyncDispose]() {
      denials[Symbol.dispose]();
      await file[Symbol.asyncDispose]();
    },
  };
}
