import { randomUUID } from 'node:crypto';
import { status } from '@capstan/machinery';
import { StoreError } from '@capstan/store';
import { BadImpersonation, impersonate } from '../authn/impersonation.ts';
import { anonymous, type Authenticator, type Credentials, Unauthenticated, type User } from '../authn/user.ts';
import type { Attributes, Authorizer } from '../authz/attributes.ts';
import { forbidden } from '../authz/index.ts';
import type { Pages } from '../handlers/nonresource.ts';
import { handleResource } from '../handlers/resources.ts';
import type { Serving } from '../handlers/serving.ts';
import type { Exchange } from '../http/exchange.ts';
import { replyError, warningHeader } from '../http/reply.ts';
import { RequestContext } from '../registry/context.ts';
import { toStatus } from '../registry/store-errors.ts';
import { MalformedUrl, parseRequest, type RequestInfo } from '../request/info.ts';
import type { Metrics } from './metrics.ts';

export interface PipelineOptions {
  readonly serving: Serving;
  readonly pages: Pages;
  readonly authenticator: Authenticator;
  readonly authorizer: Authorizer;
  readonly metrics: Metrics;
  readonly now: () => Date;
  readonly onUnexpected: (error: unknown, request: string) => void;
}

/** The way of every request: what it is, who sent it, whether they may, and then the handler. */
export class Pipeline {
  readonly #options: PipelineOptions;

  constructor(options: PipelineOptions) {
    this.#options = options;
  }

  readonly handle = (exchange: Exchange): void => {
    void this.#handle(exchange);
  };

  async #handle(exchange: Exchange): Promise<void> {
    const started = performance.now();
    exchange.header('Audit-Id', auditId(exchange));
    exchange.header('Cache-Control', 'no-cache, private');
    let info: RequestInfo | undefined;
    try {
      info = parseRequest(exchange.method, exchange.url);
      const authenticated = this.#options.authenticator.authenticate(credentialsOf(exchange));
      const sender = (authenticated instanceof Promise ? await authenticated : authenticated) ?? anonymous;
      const user = impersonate({ cluster: info.cluster, user: sender, headers: exchange.headers, rawHeaders: exchange.rawHeaders, authorizer: this.#options.authorizer });
      this.#authorize(info, user);
      await this.#dispatch(exchange, info, user);
    } catch (error) {
      replyError(exchange, asStatus(error, info), (unexpected) => this.#options.onUnexpected(unexpected, `${exchange.method} ${exchange.url}`));
    }
    if (info !== undefined && info.verb !== 'watch') {
      this.#options.metrics.observe({ ...labelsOf(info), code: exchange.code }, (performance.now() - started) / 1000);
    }
  }

  #authorize(info: RequestInfo, user: User): void {
    const attributes = attributesOf(info, user);
    const decision = this.#options.authorizer.authorize(attributes);
    if (!decision.allowed) throw forbidden(attributes, decision.reason);
  }

  async #dispatch(exchange: Exchange, info: RequestInfo, user: User): Promise<void> {
    if (!info.isResource) return this.#options.pages.handle(exchange, info);
    const { serving, now } = this.#options;
    // A group that nobody serves is a page that is not there; a resource that a known group does not have is a Status.
    if (!serving.catalog.groups.has(info.group)) return this.#options.pages.handle(exchange, { ...info, apiPrefix: '' });
    const context = new RequestContext({ info, user, objects: serving.cache, now, userAgent: exchange.headers['user-agent'] ?? '' });
    const unsent = new WarningExchange(exchange, context);
    await handleResource(serving, unsent.exchange, context);
  }
}

/** Puts the warnings that arose while the request was handled in front of its answer. */
class WarningExchange {
  readonly exchange: Exchange;

  constructor(exchange: Exchange, context: RequestContext) {
    this.exchange = exchange;
    const send = exchange.send.bind(exchange);
    exchange.send = (answer) => {
      for (const warning of context.warnings) exchange.header('Warning', warningHeader(warning));
      send(answer);
    };
  }
}

function auditId(exchange: Exchange): string {
  const given = exchange.headers['audit-id'];
  return typeof given === 'string' && given.length > 0 && given.length <= 64 ? given : randomUUID();
}

function credentialsOf(exchange: Exchange): Credentials {
  const { authorization } = exchange.headers;
  return {
    ...(authorization !== undefined && { authorization }),
    certificate: () => exchange.socket.getPeerX509Certificate()?.raw,
  };
}

export function attributesOf(info: RequestInfo, user: User): Attributes {
  return {
    cluster: info.cluster,
    user,
    verb: info.verb,
    isResource: info.isResource,
    group: info.group,
    version: info.version,
    resource: info.resource,
    subresource: info.subresource,
    namespace: info.namespace,
    name: info.name,
    path: info.path,
  };
}

function labelsOf(info: RequestInfo): { verb: string; group: string; resource: string; subresource: string } {
  return info.isResource ? info : { verb: info.method, group: '', resource: '', subresource: '' };
}

function asStatus(error: unknown, info: RequestInfo | undefined): unknown {
  if (error instanceof Unauthenticated) return status.unauthorized();
  if (error instanceof BadImpersonation) return status.internalError(error.message);
  if (error instanceof MalformedUrl) return status.badRequest(error.message);
  if (error instanceof StoreError) return toStatus(error, { group: info?.group ?? '', resource: info?.resource ?? '' }, info?.name ?? '');
  return error;
}
