import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Metrics } from '@capstan/machinery';
import { checkChange, checkData, checkHost, checkUpgrade, type Site } from '../guard/origin.ts';
import { Refusal, refusalOf } from '../guard/refusal.ts';
import type { Targets } from '../live/hub.ts';
import type { Live } from '../live/live.ts';
import { type OidcSignIn, oidcPath } from '../oidc/sign-in.ts';
import type { Pages } from '../pages/pages.ts';
import { type RelayLimits, relay } from '../relay/relay.ts';
import { relayUpgrade } from '../relay/upgrade.ts';
import { type CookieStyle, clearCookie, readCookie, writeCookie } from '../sessions/cookie.ts';
import type { Credential, Session } from '../sessions/session.ts';
import { type Sessions, TooManySessions } from '../sessions/sessions.ts';
import { type Handler, refuseUpgrade, sendJson, sendRefusal } from './server.ts';
import type { SessionView, SignIn } from './sign-in.ts';

export interface DeskOptions {
  readonly site: Site;
  /** Known once the port is. */
  readonly cookie: () => CookieStyle;
  readonly sessions: Sessions;
  readonly signIn: SignIn;
  /** Undefined without a provider. */
  readonly oidc: OidcSignIn | undefined;
  readonly pages: Pages;
  readonly targets: Targets;
  readonly live: Live;
  readonly relayLimits: RelayLimits;
  readonly socketsPerSession: number;
  readonly metrics: Metrics;
  readonly log: (line: string) => void;
}

const longestAddress = 8_192;
const relays = ['kube', 'rest'] as const;

/** Takes each request to its part of the process, and turns every error into a refusal. */
export class FrontDesk implements Handler {
  readonly #options: DeskOptions;

  constructor(options: DeskOptions) {
    this.#options = options;
  }

  async handle(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    // Until its first request, a connection had a time limit.
    incoming.socket.setTimeout(0);
    let part = 'none';
    try {
      const url = addressOf(incoming);
      checkHost(incoming, this.#options.site);
      part = partOf(url);
      await this.#route(part, { incoming, response, url });
    } catch (error) {
      sendRefusal(incoming, response, this.#refusal(error, incoming));
    }
    this.#count(part, response.statusCode);
  }

  async #route(part: string, exchange: Exchange): Promise<void> {
    const { incoming, response, url } = exchange;
    switch (part) {
      case 'session':
        return await this.#session(exchange);
      case 'kube':
      case 'rest': {
        checkData(incoming, this.#options.site);
        const session = this.#sessionOf(incoming);
        const path = url.slice(part.length + 1);
        return await relay({ incoming, response, session, path, target: this.#options.targets[part] }, this.#options.relayLimits);
      }
      case 'live':
        throw new Refusal('bad_request', 'Expected the handshake of a WebSocket.');
      default:
        return await this.#options.pages.serve(incoming, response, pathOf(url));
    }
  }

  async #session({ incoming, response, url }: Exchange): Promise<void> {
    const { signIn, site, sessions, oidc } = this.#options;
    const operation = `${incoming.method} ${pathOf(url)}`;
    switch (operation) {
      case 'POST /session/links': {
        // Not for browsers: it needs a token, which no page of another origin has.
        if (incoming.headers.origin !== undefined) checkChange(incoming, site);
        return sendJson(response, 201, { body: JSON.stringify(await signIn.link(incoming)) });
      }
      case 'POST /session': {
        checkChange(incoming, site);
        const { cookie, view } = await this.#begin(incoming, await signIn.fromBody(incoming));
        response.setHeader('set-cookie', cookie);
        return sendJson(response, 201, { body: JSON.stringify(view) });
      }
      case 'GET /session':
        checkData(incoming, site);
        return sendJson(response, 200, { body: JSON.stringify(await signIn.look(this.#sessionOf(incoming))) });
      case 'DELETE /session': {
        checkChange(incoming, site);
        const session = this.#known(incoming);
        if (session !== undefined) sessions.end(session);
        response.setHeader('set-cookie', clearCookie(this.#options.cookie()));
        return sendJson(response, 200, { body: '{}' });
      }
      case `GET ${oidcPath}`:
        if (oidc !== undefined) return await oidc.begin(incoming, response);
        break;
      case `GET ${oidcPath}/callback`:
        if (oidc !== undefined)
          return await oidc.finish(incoming, response, async (credential) => (await this.#begin(incoming, credential)).cookie);
        break;
      default:
    }
    throw new Refusal('not_found', 'Nothing is served at this address with this method.');
  }

  /** The former session of the browser ends with the beginning of another. */
  async #begin(incoming: IncomingMessage, credential: Credential): Promise<{ readonly cookie: string; readonly view: SessionView }> {
    const { signIn, sessions, cookie } = this.#options;
    const { secret, session, view } = await signIn.begin(credential);
    const before = this.#known(incoming);
    if (before !== undefined) sessions.end(before);
    return { cookie: writeCookie(cookie(), secret, session.endsAt - Date.now()), view };
  }

  async upgrade(incoming: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    const { site, live, targets, relayLimits, socketsPerSession } = this.#options;
    let session: Session | undefined;
    try {
      const url = addressOf(incoming);
      checkHost(incoming, site);
      checkUpgrade(incoming, site);
      const part = partOf(url);
      const known = this.#sessionOf(incoming);
      if (known.sockets >= socketsPerSession)
        throw new Refusal('too_many', `Each session can have ${socketsPerSession} open streams. Close a tab or a terminal.`);
      session = known;
      session.sockets++;
      const request = { request: incoming, socket, head };
      if (part === 'live') await live.serve(session, request);
      else if (part === 'kube') {
        const path = url.slice('/kube'.length);
        await relayUpgrade({ ...request, session, path, target: targets.kube, answerWithin: relayLimits.answerWithin });
      } else throw new Refusal('not_found', 'No WebSocket is served at this address.');
      this.#count(part, 101);
    } catch (error) {
      const refusal = this.#refusal(error, incoming);
      this.#count('upgrade', refusal.status);
      refuseUpgrade(socket, refusal);
    } finally {
      if (session !== undefined) session.sockets--;
    }
  }

  #known(incoming: IncomingMessage): Session | undefined {
    return this.#options.sessions.find(readCookie(incoming.headers.cookie, this.#options.cookie()));
  }

  #sessionOf(incoming: IncomingMessage): Session {
    const session = this.#known(incoming);
    if (session === undefined) throw this.#options.signIn.signedOut('Nobody is signed in, or the session is over.');
    return session;
  }

  #refusal(error: unknown, { method, url = '' }: IncomingMessage): Refusal {
    const refusal = refusalOf(error) ?? (error instanceof TooManySessions ? new Refusal('unavailable', error.message) : undefined);
    if (refusal !== undefined) return refusal;
    // The client went away in the middle of a file.
    if ((error as NodeJS.ErrnoException).code === 'ERR_STREAM_PREMATURE_CLOSE')
      return new Refusal('request_timeout', 'The client is gone.');
    const path = JSON.stringify(pathOf(url).slice(0, 200));
    this.#options.log(`${method} ${path} failed: ${error instanceof Error ? error.stack : String(error)}`);
    return new Refusal('internal', 'The request failed for a reason that the operator of this console finds in its log.');
  }

  #count(part: string, code: number): void {
    this.#options.metrics.counter('capstan_console_requests_total', 'Requests.', { part, code: String(code) }).increment();
  }
}

interface Exchange {
  readonly incoming: IncomingMessage;
  readonly response: ServerResponse;
  readonly url: string;
}

function addressOf({ url = '' }: IncomingMessage): string {
  if (url.length > longestAddress) throw new Refusal('address_too_long', `The address may have at most ${longestAddress} characters.`);
  if (!url.startsWith('/')) throw new Refusal('bad_request', 'Expected an address that begins with a slash.');
  return url;
}

const pathOf = (url: string): string => url.split('?')[0]!;

function partOf(url: string): string {
  const path = pathOf(url);
  if (path === '/live') return 'live';
  if (path === '/session' || path.startsWith('/session/')) return 'session';
  return relays.find((one) => path.startsWith(`/${one}/`)) ?? 'pages';
}
