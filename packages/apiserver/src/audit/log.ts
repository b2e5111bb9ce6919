import type { Attributes } from '../authz/attributes.ts';
import { type DenialLimits, Denials, isDenied } from './denials.ts';
import { type AuditedRequest, eventLine } from './event.ts';
import { LogFile, type LogFileOptions } from './file.ts';
import { type AuditPolicy, compilePolicy, defaultPolicy, type Recording } from './policy.ts';
import type { AuditSink } from './sinks/sink.ts';
import { StdoutSink } from './sinks/stdout.ts';
import { WebhookSink, type WebhookSinkOptions } from './sinks/webhook.ts';

/** Whether a response waits until its event is in the file. The names are those of `--audit-log-mode`. */
export type AuditMode = 'blocking' | 'batch';

/** Where else events go. */
export type SinkOptions = { readonly type: 'stdout' } | ({ readonly type: 'webhook' } & Omit<WebhookSinkOptions, 'onError'>);

export interface AuditLogOptions extends LogFileOptions {
  readonly policy?: AuditPolicy;
  /** Defaults to `blocking`. */
  readonly mode?: AuditMode;
  /** Beside the file, which is always written: the query API reads it. Responses never wait for them. */
  readonly sinks?: readonly SinkOptions[];
  /** When repeated denials are counted instead of recorded individually. */
  readonly denialLimits?: Partial<DenialLimits>;
}

export interface AuditLog extends AsyncDisposable {
  /** How to record a request; undefined if it is not recorded. Call it once, when the attributes of the request are known. */
  recordingOf(attributes: Attributes<string>): Recording | undefined;
  /** How to record a denied request that no rule records. */
  readonly denials: Recording | undefined;
  readonly mode: AuditMode;
  /**
   * Writes one stage of a request, unless its recording omits the stage. Never throws and never waits; `done` is called when the event is
   * in the file or known to be lost. Requests are answered either way.
   */
  record(request: AuditedRequest, recording: Recording, done?: () => void): void;
  /** The number of events lost because they could not be written to the file. */
  readonly dropped: number;
  /** The same, of all sinks together. */
  readonly droppedBySinks: number;
  /** The number of denied requests that were only counted. */
  readonly aggregated: number;
}

/**
 * The audit log: a file with one JSON line per event, and sinks that get the same lines.
 *
 *     const recording = audit.recordingOf(attributes);
 *     …
 *     const how = recording ?? (code === 401 || code === 403 ? audit.denials : undefined);
 *     if (how !== undefined) audit.record({ stage: 'ResponseComplete', … }, how);
 */
export function auditLog({
  policy = defaultPolicy,
  mode = 'blocking',
  denialLimits,
  sinks: wanted = [],
  ...fileOptions
}: AuditLogOptions): AuditLog {
  const file = new LogFile(fileOptions);
  const sinks = wanted.map((one) => sinkOf(one, fileOptions.onError));
  const write = (line: string, done?: () => void): void => {
    file.write(line, done);
    for (const sink of sinks) sink.write(line);
  };
  const denials = new Denials(write, denialLimits);
  return {
    recordingOf: compilePolicy(policy),
    denials: policy.denials === true ? { level: 'Metadata', omitStages: [], omitManagedFields: true } : undefined,
    mode,
    record(request, recording, done) {
      if (recording.omitStages.includes(request.stage)) return done?.();
      const line = (): string => eventLine(request, recording);
      if (isDenied(request) && !denials.isRecorded(request, line)) done?.();
      else write(line(), done);
    },
    get dropped() {
      return file.dropped;
    },
    get droppedBySinks() {
      return sinks.reduce((sum, { dropped }) => sum + dropped, 0);
    },
    get aggregated() {
      return denials.counted;
    },
    async [Symbol.asyncDispose]() {
      denials[Symbol.dispose]();
      await Promise.all([file, ...sinks].map((one) => one[Symbol.asyncDispose]()));
    },
  };
}

function sinkOf(options: SinkOptions, onError: (error: Error) => void): AuditSink {
  if (options.type === 'stdout') return new StdoutSink({ onError });
  const { type: _, ...rest } = options;
  return new WebhookSink({ ...rest, onError });
}
