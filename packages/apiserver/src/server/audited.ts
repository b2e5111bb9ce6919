import type { StatusError } from '@capstan/machinery';
import type { AuditedRequest, AuditLog, Recording, Stage } from '../audit/index.ts';
import type { User } from '../authn/user.ts';
import { type Attributes, type Authorizer, type Decision, nothingWanted } from '../authz/attributes.ts';
import type { Exchange } from '../http/exchange.ts';
import { rootCluster } from '../workspaces/names.ts';

const workspaceAnnotation = 'tenancy.kcp.io/workspace';

/** What the audit log will say about one request. Costs next to nothing for those that it says nothing about. */
export class Audited {
  readonly id: string;
  readonly #log: AuditLog;
  readonly #exchange: Exchange;
  readonly #received: Date | undefined;
  #recording: Recording | undefined;
  #attributes: Attributes | undefined;
  #sender: User | undefined;
  #decision: Decision | undefined;
  #failure: StatusError | undefined;
  #annotations: Readonly<Record<string, string>> | undefined;

  constructor(log: AuditLog, exchange: Exchange, id: string) {
    this.#log = log;
    this.#exchange = exchange;
    this.id = id;
    this.#received = exchange.method === 'GET' ? undefined : new Date();
  }

  begin(attributes: Attributes, sender: User): void {
    this.#attributes = attributes;
    this.#sender = sender;
    this.#recording = this.#log.recordingOf(attributes);
    if (attributes.cluster !== rootCluster) this.#annotations = { [workspaceAnnotation]: attributes.cluster };
    this.#record('RequestReceived');
  }

  decided(decision: Decision, authorizer: Authorizer): void {
    this.#decision = decision;
    if (!decision.allowed) this.#recording ??= this.#log.denials;
    if (this.#recording === undefined || this.#attributes === undefined) return;
    for (const [step, { allowed, reason }] of Object.entries(authorizer.explain?.(this.#attributes) ?? {})) {
      this.#annotations = { ...this.#annotations, [`${step}-decision`]: allowed ? 'Allowed' : 'NoOpinion', [`${step}-reason`]: reason };
    }
  }

  failed(error: StatusError): void {
    this.#failure = error;
    if (error.code === 401 || error.code === 403) this.#recording ??= this.#log.denials;
  }

  end(): void {
    this.#record('ResponseComplete');
  }

  #record(stage: Stage): void {
    if (this.#recording === undefined || this.#recording.omitStages.includes(stage)) return;
    const isComplete = stage === 'ResponseComplete';
    const exchange = this.#exchange;
    const now = new Date();
    const sender = this.#sender;
    const user = this.#attributes?.user;
    const request: AuditedRequest = {
      auditId: this.id,
      stage,
      requestUri: exchange.url,
      attributes: this.#attributes ?? unknownRequest(exchange),
      ...(sender !== undefined && sender !== user && { impersonator: sender }),
      sourceIps: [exchange.remoteAddress],
      ...(exchange.headers['user-agent'] !== undefined && { userAgent: exchange.headers['user-agent'] }),
      receivedAt: this.#received ?? now,
      at: now,
      ...(isComplete && { response: { code: exchange.code, ...(this.#failure && failureOf(this.#failure)) } }),
      ...(this.#decision && { decision: this.#decision }),
      ...((this.#annotations ?? exchange.annotations) && { annotations: { ...this.#annotations, ...exchange.annotations } }),
      requestObject: () => parsed(exchange.received),
      responseObject: () => parsed(exchange.sent),
    };
    this.#log.record(request, this.#recording);
  }
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

/** A request that was refused before it was known what it wants. */
function unknownRequest(exchange: Exchange): Attributes {
  return {
    ...nothingWanted,
    cluster: '',
    user: { name: '', groups: [] },
    verb: exchange.method.toLowerCase(),
    path: exchange.url.split('?', 1)[0]!,
  };
}
