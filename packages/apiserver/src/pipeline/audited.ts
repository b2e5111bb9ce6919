import { auditWorkspaceAnnotation, type User } from '@capstan/api';
import type { StatusError } from '@capstan/machinery';
import type { AuditedRequest } from '../audit/event.ts';
import type { AuditLog } from '../audit/log.ts';
import type { Recording, Stage } from '../audit/policy.ts';
import { type Attributes, type Decision, type Gate, nothingWanted } from '../authz/attributes.ts';
import type { AnswerKeeper, Exchange } from '../http/exchange.ts';

/** The audit records of one request. Costs almost nothing for requests that are not recorded. */
export class Audited implements AnswerKeeper {
  readonly id: string;
  readonly #log: AuditLog;
  readonly #exchange: Exchange;
  readonly #received: Date | undefined;
  #recording: Recording | undefined;
  #attributes: Attributes<string> | undefined;
  #sender: User | undefined;
  #decision: Decision | undefined;
  #failure: StatusError | undefined;
  #annotations: Readonly<Record<string, string>> | undefined;
  #isComplete = false;

  constructor(log: AuditLog, exchange: Exchange, id: string) {
    this.#log = log;
    this.#exchange = exchange;
    this.id = id;
    this.#received = exchange.method === 'GET' ? undefined : new Date();
    if (log.mode === 'blocking') exchange.keeper = this;
  }

  /** Sets the sender, so that a request rejected before its target is known is recorded with their name. */
  authenticated(sender: User): void {
    this.#sender = sender;
  }

  begin(attributes: Attributes<string>): void {
    this.#attributes = attributes;
    this.#recording = this.#log.recordingOf(attributes);
    if (this.#recording !== undefined) this.#exchange.isRecorded = true;
  }

  /** The request will be handled. Rejected requests have only one record, so that strangers cannot fill the log. */
  admitted(): void {
    this.#record('RequestReceived');
  }

  /** A stream starts. Resolves when that is recorded, or at once if responses do not wait for their records. */
  started(): Promise<void> {
    if (this.#log.mode === 'blocking') return new Promise((resolve) => this.#record('ResponseStarted', resolve));
    this.#record('ResponseStarted');
    return Promise.resolve();
  }

  decided(decision: Decision, authorizer: Gate, attributes: Attributes): void {
    if (decision.allowed) this.admitted();
    else this.#recording ??= this.#log.denials;
    const isUnknown = !decision.allowed && decision.error !== undefined;
    this.#decision = isUnknown ? { allowed: false, reason: 'internal error' } : decision;
    if (this.#recording !== undefined) this.#explain(attributes, authorizer);
  }

  failed(error: StatusError): void {
    this.#failure = error;
    if (error.code === 401 || error.code === 403) this.#recording ??= this.#log.denials;
  }

  get holds(): boolean {
    return this.#recording !== undefined && !this.#isComplete;
  }

  hold(send: () => void): void {
    this.#complete(send);
  }

  /** To be called when handling has finished. A response that is still being compressed is recorded when it is sent. */
  end(): void {
    if (this.#isComplete || this.#recording === undefined) return;
    if (this.#exchange.answered || this.#exchange.closed) this.#complete();
    else this.#exchange.onClose(() => this.#complete());
  }

  #explain(attributes: Attributes, authorizer: Gate): void {
    for (const [step, { allowed, reason }] of Object.entries(authorizer.explain?.(attributes) ?? {})) {
      this.#annotations = { ...this.#annotations, [`${step}-decision`]: allowed ? 'Allowed' : 'NoOpinion', [`${step}-reason`]: reason };
    }
  }

  #complete(done?: () => void): void {
    if (this.#isComplete) return;
    this.#isComplete = true;
    this.#record('ResponseComplete', done);
  }

  #record(stage: Stage, done?: () => void): void {
    if (this.#recording === undefined || this.#recording.omitStages.includes(stage)) return done?.();
    const isComplete = stage === 'ResponseComplete';
    const exchange = this.#exchange;
    const now = new Date();
    const sender = this.#sender;
    const attributes = this.#attributes ?? unknownRequest(exchange, sender);
    const request: AuditedRequest = {
      auditId: this.id,
      stage,
      requestUri: exchange.url,
      attributes,
      ...(sender !== undefined && sender !== attributes.user && { impersonator: sender }),
      sourceIps: [exchange.remoteAddress],
      ...(exchange.headers['user-agent'] !== undefined && { userAgent: exchange.headers['user-agent'] }),
      receivedAt: this.#received ?? now,
      at: now,
      ...(isComplete && { response: { code: exchange.code, ...(this.#failure && failureOf(this.#failure)) } }),
      ...(isComplete && exchange.written && { object: exchange.written }),
      ...(this.#decision && { decision: this.#decision }),
      ...annotationsOf(attributes, this.#annotations, exchange.annotations),
      requestObject: () => parsed(exchange.received),
      responseObject: () => parsed(exchange.sent),
    };
    this.#log.record(request, this.#recording, done);
  }
}

/**
 * Webhooks and policies of tenants choose the names of their annotations, so the server's own win: nobody can make an event appear in another workspace.
 * They also come first, since only the first ones are recorded.
 */
function annotationsOf(
  { cluster }: Attributes<string>,
  explained: Readonly<Record<string, string>> | undefined,
  given: Readonly<Record<string, string>> | undefined,
): Pick<AuditedRequest, 'annotations'> {
  if (cluster === '') return given === undefined ? {} : { annotations: given };
  const own = { [auditWorkspaceAnnotation]: cluster, ...explained };
  return { annotations: given === undefined ? own : { ...own, ...given, ...own } };
}

function failureOf({ status }: StatusError): { status: string; reason: string; message: string } {
  return { status: status.status, reason: status.reason ?? '', message: status.message ?? '' };
}

function parsed(body: string | Buffer | undefined): unknown {
  if (body === undefined || body.length === 0) return undefined;
  try {
    return JSON.parse(body.toString());
  } catch {
    return undefined;
  }
}

/** A request that was rejected before its target was known. */
function unknownRequest(exchange: Exchange, sender: User = { name: '', groups: [] }): Attributes<string> {
  return {
    ...nothingWanted,
    cluster: '',
    user: sender,
    verb: exchange.method.toLowerCase(),
    path: exchange.url.split('?', 1)[0]!,
  };
}
