import { randomUUID } from 'node:crypto';
import { controllerManagerUser, rootCluster, superuserGroup, type User } from '@capstan/api';
import { StatusError, status } from '@capstan/machinery';
import { StoreError } from '@capstan/store';
import type { AuditLog } from '../audit/log.ts';
import { peerCertificate } from '../authn/peer-certificate.ts';
import type { Rejections } from '../authn/rejections.ts';
import type { Revocations } from '../authn/revocations.ts';
import { type Authenticator, anonymous, type Credentials, Unauthenticated } from '../authn/user.ts';
import { takeWebSocketToken } from '../authn/web-socket-token.ts';
import { type Attributes, type Authorizer, type Decision, type Gate, nothingWanted } from '../authz/attributes.ts';
import { asksForSomebodyElse, BadImpersonation, impersonate } from '../authz/impersonation.ts';
import { settled } from '../authz/settled.ts';
import { forbidden } from '../authz/wording.ts';
import type { Pages } from '../handlers/nonresource.ts';
import { handleResource } from '../handlers/resources.ts';
import type { Serving } from '../handlers/serving.ts';
import type { Exchange } from '../http/exchange.ts';
import { replyError } from '../http/reply.ts';
import { sourceOf } from '../http/source.ts';
import { warningHeaders } from '../http/warnings.ts';
import { type ByteBudget, HeldBytes } from '../limits/byte-budget.ts';
import type { Flow } from '../limits/classifier.ts';
import type { Client, Clients } from '../limits/clients.ts';
import type { InFlight } from '../limits/in-flight.ts';
import { type Line, lineOf, type OrganizationOf, strangerLine } from '../limits/line.ts';
import type { OpenCount } from '../limits/open-count.ts';
import type { RequestClass } from '../limits/places.ts';
import type { ServerMetrics } from '../metrics/metrics.ts';
import { attributesOf } from '../registry/attributes.ts';
import type { Catalog } from '../registry/catalog.ts';
import { catalogFor } from '../registry/catalogs.ts';
import { RequestContext } from '../registry/context.ts';
import type { RequestInfo } from '../registry/scope.ts';
import { toStatus } from '../registry/store-errors.ts';
import { type ParsedRequest, parseRequest } from '../request/info.ts';
import { MalformedUrl } from '../request/malformed-url.ts';
import { requestTimeout, timedOut } from '../request/timeout.ts';
import type { WorkspaceAuthentication } from '../workspaces/authentication.ts';
import { checkImpersonation, scopedTo } from '../workspaces/impersonation.ts';
import type { MountedWorkspaces } from '../workspaces/mounts/mounted.ts';
import { type Away, type AwayRequest, isAway } from '../workspaces/mounts/mounts.ts';
import { closed, type Scopes, unreachable } from '../workspaces/scopes.ts';
import { Audited } from './audited.ts';
import { BodyTurn } from './body-turn.ts';

export interface PipelineOptions {
  readonly serving: Serving;
  readonly pages: Pages;
  readonly scopes: Scopes;
  /** Undefined if no workspace is mounted from elsewhere. */
  readonly mounted: MountedWorkspaces | undefined;
  readonly authenticator: Authenticator;
  readonly workspaceAuthentication: WorkspaceAuthentication;
  readonly authorizer: Gate;
  readonly audit: AuditLog;
  readonly organizationOf: OrganizationOf;
  readonly classify: (attributes: Attributes<string>) => Flow | undefined;
  readonly inFlight: InFlight;
  readonly clients: Clients;
  /** Requests whose body has not arrived yet, and the bytes of bodies. */
  readonly unfinished: OpenCount;
  readonly bodies: ByteBudget;
  readonly watches: OpenCount;
  /** Streams to nodes. */
  readonly streams: OpenCount;
  /** Ends watches and streams whose tokens are revoked. */
  readonly revocations: Revocations;
  readonly metrics: ServerMetrics;
  readonly now: () => Date;
  readonly rejections: Rejections;
  readonly onUnexpected: (error: unknown, request: string) => void;
}

/** Maximum length of a URL in the server's own log. */
const longestLogged = 1024;
const deepReviewHeader = 'x-kcp-internal-deep-subjectaccessreview';

/**
 * The path of every request: parsing, authentication, authorization and flow control, then the handler, and the audit record and
 * metrics.
 */
export class Pipeline {
  readonly #options: PipelineOptions;

  constructor(options: PipelineOptions) {
    this.#options = options;
  }

  readonly handle = (exchange: Exchange): void => {
    const turn = this.#options.clients.startEarly(exchange);
    if (turn === undefined) return void this.#handle(exchange);
    exchange.turnOf = exchange.owner;
    void turn.then(() => this.#handle(exchange));
  };

  async #handle(exchange: Exchange): Promise<void> {
    const { metrics, audit, mounted } = this.#options;
    const started = performance.now();
    const audited = new Audited(audit, exchange, auditId(exchange));
    exchange.header('Audit-Id', audited.id);
    exchange.header('Cache-Control', 'no-cache, private');
    let parsed: ParsedRequest | AwayRequest | undefined;
    let isStream = false;
    try {
      parsed = parseRequest(exchange.method, exchange.url);
      if (mounted !== undefined) parsed = mounted.mounts.follow(parsed, exchange.url);
      const { query } = parsed;
      const isTimed = !query.isEmpty && parsed.verb !== 'watch' && !this.#staysOpen(parsed);
      const limit = isTimed ? requestTimeout(query.get('timeout') ?? '') : undefined;
      const credentials = credentialsOf(exchange);
      const authenticated = this.#authenticate(credentials, parsed);
      const sender = (authenticated instanceof Promise ? await authenticated : authenticated) ?? anonymous;
      if (sender !== anonymous) exchange.authenticated();
      audited.authenticated(sender);
      if (isAway(parsed)) return await this.#away(exchange, parsed, { sender, audited, limit, credentials });
      let info = this.#enter(exchange, parsed, sender);
      parsed = info;
      const user = asksForSomebodyElse(exchange.headers) ? await this.#impersonated(exchange, info, sender) : sender;
      if (user !== sender) parsed = info = this.#options.scopes.enterAs(info, user);
      const attributes = attributesOf(info, user);
      audited.begin(attributes);
      // Long-running requests are not queued.
      if (!this.#staysOpen(info)) this.#tellFlow(exchange, attributes);
      const gate = info.scope?.authorizer ?? this.#options.authorizer;
      const decision = gate.authorize(attributes);
      const decided = decision instanceof Promise ? await decision : decision;
      audited.decided(decided, gate, attributes);
      if (!decided.allowed) {
        exchange.header('X-Content-Type-Options', 'nosniff');
        throw refused(attributes, decided);
      }
      if (info.scope?.isInactive === true) throw closed(info.cluster);
      limitTime(exchange, limit);
      if (info.verb === 'watch') await this.#open(this.#options.watches, exchange, { info, user, credentials });
      else if (exchange.answered) return;
      else if (this.#staysOpen(info)) {
        exchange.beforeStream = () => {
          isStream = true;
          return audited.started();
        };
        await this.#open(this.#options.streams, exchange, { info, user, credentials });
      } else await this.#inTurn(exchange, info, user);
    } catch (error) {
      if (error instanceof BadImpersonation || error instanceof Undecided) {
        exchange.header('X-Content-Type-Options', 'nosniff');
        exchange.send({
          code: 500,
          type: 'text/plain; charset=utf-8',
          body: `Internal Server Error: ${JSON.stringify(exchange.url)}: ${error.message}\n`,
        });
      } else {
        if (error instanceof Unauthenticated) this.#options.rejections.add(error, exchange.remoteAddress);
        const answer = asStatus(error, parsed);
        if (answer instanceof StatusError) audited.failed(answer);
        replyError(exchange, answer, (unexpected) =>
          this.#options.onUnexpected(unexpected, `${exchange.method} ${exchange.url.slice(0, longestLogged)}`),
        );
      }
    } finally {
      audited.end();
      if (parsed !== undefined && parsed.verb !== 'watch' && !isStream)
        metrics.observe(parsed, exchange.code, (performance.now() - started) / 1000);
    }
  }

  /** Rejects a missing workspace exactly like an inaccessible one, including the headers. */
  #enter(exchange: Exchange, info: ParsedRequest, user: User): RequestInfo {
    try {
      return this.#options.scopes.enter(info, user);
    } catch (error) {
      if (!this.#staysOpen(info)) this.#tellFlow(exchange, attributesOf(info, user));
      exchange.header('X-Content-Type-Options', 'nosniff');
      throw error;
    }
  }

  #tellFlow(exchange: Exchange, attributes: Attributes<string>): void {
    const flow = this.#options.classify(attributes);
    if (flow === undefined) return;
    exchange.header('X-Kubernetes-Pf-Flowschema-Uid', flow.flowSchemaUid);
    exchange.header('X-Kubernetes-Pf-Prioritylevel-Uid', flow.priorityLevelUid);
  }

  /** A request that is forwarded to another server. That server authorizes it, but anonymous requests are rejected here. */
  async #away(
    exchange: Exchange,
    info: AwayRequest,
    { sender, audited, limit, credentials }: { sender: User; audited: Audited; limit: number | undefined; credentials: Credentials },
  ): Promise<void> {
    const attributes = attributesOf(info, sender);
    audited.begin(attributes);
    if (sender.name === anonymous.name || !(await this.#mayKnow(info.away, sender))) throw unreachable(info.cluster, info, sender);
    audited.admitted();
    limitTime(exchange, limit);
    if (info.verb === 'watch') await this.#open(this.#options.watches, exchange, { info, user: sender, credentials });
    else await this.#inTurn(exchange, info, sender);
  }

  /** Only users with access to the parent workspace may learn that a mount exists but is unavailable. */
  async #mayKnow(away: Away, user: User): Promise<boolean> {
    if (away.kind === 'elsewhere' || away.parent === rootCluster) return true;
    const entering = { ...nothingWanted, cluster: away.parent, user, verb: 'access', path: '/' };
    return (await this.#options.authorizer.authorize(entering)).allowed;
  }

  /** A request through a view counts for its sender, not for the workspace that it reads. */
  #lineOf({ remoteAddress }: Exchange, { place, cluster }: RequestInfo | AwayRequest, user: User): Line {
    // Nobody knows who they are, but one source must not speak for all of them.
    if (user === anonymous) return strangerLine(sourceOf(remoteAddress));
    return lineOf(place.kind === 'view' ? rootCluster : cluster, user, this.#options.organizationOf);
  }

  /** Watches and streams stay open, so they are counted separately and do not occupy a place in the queues. */
  async #open(
    count: OpenCount,
    exchange: Exchange,
    { info, user, credentials }: { info: RequestInfo | AwayRequest; user: User; credentials: Credentials },
  ): Promise<void> {
    // A client that has left would be counted for ever.
    if (exchange.closed) return;
    const line = this.#lineOf(exchange, info, user);
    exchange.client = this.#options.clients.of(line);
    count.open(line, user);
    exchange.onClose(() => count.close(line));
    this.#options.revocations.add(exchange, credentials);
    await this.#dispatch(exchange, info, user);
  }

  #staysOpen({
    subresource,
    isResource,
    group,
    resource,
  }: Pick<ParsedRequest, 'subresource' | 'isResource' | 'group' | 'resource'>): boolean {
    return subresource !== '' && isResource && this.#options.serving.connections.has({ group, resource }, subresource);
  }

  async #inTurn(exchange: Exchange, info: RequestInfo | AwayRequest, user: User): Promise<void> {
    const { inFlight, clients } = this.#options;
    const kind: RequestClass = exchange.method === 'GET' || exchange.method === 'HEAD' ? 'readonly' : 'mutating';
    const line = this.#lineOf(exchange, info, user);
    const client = clients.of(line);
    exchange.client = client;
    if (kind === 'mutating' && exchange.headers['content-length'] !== '0') return this.#afterBody(exchange, info, { user, client });
    if (exchange.turnOf === line.tenant) clients.charge(client);
    else {
      const turn = clients.start(client);
      if (turn !== undefined) await turn;
    }
    const wait = inFlight.enter(line, user, kind);
    if (wait !== undefined) await wait;
    try {
      await this.#dispatch(exchange, info, user);
    } finally {
      inFlight.leave(line, kind);
    }
  }

  /** A request takes its place when its body has arrived: those who send slowly, or not at all, must not take places from others. */
  async #afterBody(exchange: Exchange, info: RequestInfo | AwayRequest, { user, client }: { user: User; client: Client }): Promise<void> {
    const { unfinished, bodies } = this.#options;
    const { line } = client;
    const held = new HeldBytes(bodies, line);
    const turn = new BodyTurn({ ...this.#options, user, client });
    let isUnfinished = true;
    exchange.bodyBytes = held;
    exchange.afterBody = () => {
      if (isUnfinished) unfinished.close(line);
      isUnfinished = false;
      return turn.take(exchange.received?.length ?? 0);
    };
    unfinished.open(line, user);
    try {
      await this.#dispatch(exchange, info, user);
    } finally {
      held.giveAll();
      turn.end();
      if (isUnfinished) unfinished.close(line);
    }
  }

  #authenticate(credentials: Credentials, { place }: Pick<ParsedRequest, 'place'>): ReturnType<Authenticator['authenticate']> {
    const { authenticator, workspaceAuthentication } = this.#options;
    if (place.kind === 'plain') return authenticator.authenticate(credentials);
    const orElse = async (error: unknown): Promise<User> => {
      const user = error instanceof Unauthenticated ? await workspaceAuthentication.authenticate(place.path, credentials) : undefined;
      if (user === undefined) throw error;
      return user;
    };
    try {
      const user = authenticator.authenticate(credentials);
      return user instanceof Promise ? user.catch(orElse) : user;
    } catch (error) {
      return orElse(error);
    }
  }

  #impersonated(exchange: Exchange, info: RequestInfo, sender: User): User | Promise<User> {
    return settled(this.#options.authorizer, (authorizer) => this.#becoming(exchange, { info, sender }, authorizer));
  }

  #becoming(exchange: Exchange, { info, sender }: { info: RequestInfo; sender: User }, authorizer: Authorizer): User {
    // The controller-manager impersonates accounts of the root workspace in every workspace.
    const cluster = sender.name === controllerManagerUser ? rootCluster : info.cluster;
    const user = impersonate({
      cluster,
      user: sender,
      headers: exchange.headers,
      rawHeaders: exchange.rawHeaders,
      authorizer,
    });
    if (user === sender) return user;
    checkImpersonation(sender, user, cluster);
    return info.place.kind === 'plain' || cluster !== info.cluster ? user : scopedTo(cluster, sender, user);
  }

  async #permit(info: RequestInfo, user: User, verb: string): Promise<void> {
    const attributes = { ...attributesOf(info, user), verb };
    const decision = await (info.scope?.authorizer ?? this.#options.authorizer).authorize(attributes);
    if (!decision.allowed) throw refused(attributes, decision);
  }

  async #dispatch(exchange: Exchange, info: RequestInfo | AwayRequest, user: User): Promise<void> {
    const { serving, now, pages, mounted } = this.#options;
    if (isAway(info)) return mounted!.forwarder.forward(exchange, info.away, user);
    if (!info.isResource) return pages.handle(exchange, info);
    // A group that nobody serves gets the plain 404 page; a resource missing from one of the server's own groups gets a Status.
    if (!serving.catalog.hasGroup(info.group) && !isServed(catalogFor(serving, info), info))
      return pages.handle(exchange, { ...info, apiPrefix: '' });
    const context = new RequestContext({
      info,
      user: info.scope?.insideAs?.(user) ?? user,
      objects: serving.cache,
      now,
      userAgent: exchange.headers['user-agent'] ?? '',
      turns: exchange.client,
      // Updates and patches may turn out to be creations, and WebSockets can be opened only with GET. Both need their own permission. Proxies pass on what else the user may do.
      permit:
        info.verb === 'patch' ||
        info.verb === 'update' ||
        info.subresource === 'proxy' ||
        (info.verb === 'get' && exchange.upgradeTo !== undefined)
          ? (verb) => this.#permit(info, user, verb)
          : undefined,
      deepReview: exchange.headers[deepReviewHeader] === 'true' && user.groups.includes(superuserGroup),
    });
    exchange.beforeAnswer = () => {
      for (const warning of warningHeaders(context.warnings)) exchange.header('Warning', warning);
      exchange.annotations = context.annotations;
    };
    await handleResource(serving, exchange, context);
  }
}

/** Authorization failed with an error. Reported as plain text with status 500, as in Kubernetes. */
class Undecided extends Error {
  override readonly name = 'Undecided';
}

function refused(attributes: Attributes, { reason, error }: Decision & { readonly allowed: false }): Error {
  return error === undefined ? forbidden(attributes, reason) : new Undecided(error);
}

/** Responds in place of a handler that takes longer than its client is willing to wait. The handler still runs to its end. */
function limitTime(exchange: Exchange, limit: number | undefined): void {
  if (limit === undefined) return;
  const giveUp = (): void => {
    if (!exchange.answered) exchange.send({ code: 504, type: 'application/json', body: timedOut() });
  };
  // Nothing completes in less than a millisecond.
  if (limit < 1) return giveUp();
  const timer = setTimeout(giveUp, limit);
  exchange.onClose(() => clearTimeout(timer));
}

/** Kinds that users added are served only in their own scope: with a namespace if they are namespaced, without one otherwise. */
function isServed(catalog: Catalog, info: RequestInfo): boolean {
  const resource = catalog.resource(info.group, info.version, info.resource);
  if (resource === undefined) return false;
  if (resource.namespaced === (info.namespace !== '')) return true;
  return resource.namespaced && (info.verb === 'list' || info.verb === 'watch');
}

function credentialsOf(exchange: Exchange): Credentials {
  const webSocketToken = exchange.upgradeTo === 'websocket' ? takeWebSocketToken(exchange.headers) : undefined;
  const authorization = exchange.headers.authorization ?? webSocketToken;
  const certificate = (): Buffer | undefined => peerCertificate(exchange.socket);
  return authorization === undefined ? { certificate } : { authorization, certificate };
}

function auditId(exchange: Exchange): string {
  const given = exchange.headers['audit-id'];
  return typeof given === 'string' && /^[\w-]{1,64}$/.test(given) ? given : randomUUID();
}

function asStatus(error: unknown, info: Pick<ParsedRequest, 'group' | 'resource' | 'name'> | undefined): unknown {
  if (error instanceof Unauthenticated) return status.unauthorized();
  if (error instanceof MalformedUrl) return status.badRequest(error.message);
  if (error instanceof StoreError) return toStatus(error, { group: info?.group ?? '', resource: info?.resource ?? '' }, info?.name ?? '');
  return error;
}
