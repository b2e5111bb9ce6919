import { join } from 'node:path';
import type { Connection } from '@capstan/client';
import { startHealthServer } from '@capstan/controller';
import { Metrics } from '@capstan/machinery';
import { anonymousConnection, UpstreamHealth } from '@capstan/serving';
import { certificateNames } from '../guard/certificate-names.ts';
import { defaultLiveLimits, Live, type LiveLimits } from '../live/live.ts';
import { Provider, type ProviderOptions } from '../oidc/provider.ts';
import { OidcSignIn } from '../oidc/sign-in.ts';
import { Pages } from '../pages/pages.ts';
import { defaultRelayLimits, type RelayLimits } from '../relay/relay.ts';
import { Target } from '../relay/target.ts';
import { type CookieStyle, cookieStyle } from '../sessions/cookie.ts';
import { Links } from '../sessions/links.ts';
import { type SessionLimits, Sessions } from '../sessions/sessions.ts';
import { Vault } from '../sessions/vault.ts';
import { FrontDesk } from './front-desk.ts';
import { type ConsoleServer, defaultServerLimits, type ListenOptions, type ServerLimits, startServer } from './server.ts';
import { SignIn } from './sign-in.ts';

export interface ConsoleLimits extends Partial<ServerLimits> {
  readonly sessions?: Partial<SessionLimits>;
  readonly relay?: Partial<RelayLimits>;
  readonly live?: Partial<LiveLimits>;
  readonly socketsPerSession?: number;
}

export interface ConsoleOptions extends ListenOptions {
  /** Of the API server. Credentials in it are not used. */
  readonly connection: Connection;
  /** Of runtime-api. */
  readonly rest: Connection;
  readonly healthAt: { readonly host: string; readonly port: number };
  /** With the built pages. */
  readonly pagesDirectory: string;
  /** For the sessions. */
  readonly dataDirectory: string;
  /** Something in front of this process speaks https with browsers. */
  readonly behindProxy?: boolean;
  /** Names in the addresses that browsers use, besides `localhost`. */
  readonly names?: readonly string[];
  /** An OpenID provider that the API server trusts. */
  readonly oidc?: ProviderOptions;
  readonly log: (line: string) => void;
  readonly limits?: ConsoleLimits;
}

export interface Console extends AsyncDisposable, Pick<ConsoleServer, 'port' | 'replaceCertificate'> {
  readonly healthPort: number;
}

/** Starts the console: a process that acts for people who signed in, and has no rights of its own. */
export async function startConsole(options: ConsoleOptions): Promise<Console> {
  await using stack = new AsyncDisposableStack();
  const { tls, limits = {}, log } = options;
  const metrics = new Metrics();
  const kube = stack.use(await Target.to(anonymousConnection(options.connection)));
  const rest = stack.use(await Target.to(anonymousConnection(options.rest)));
  const health = new UpstreamHealth(kube.transport);
  const healthServer = stack.use(await startHealthServer(options.healthAt, { metrics, notReady: () => health.problem() }));
  const provider = options.oidc && new Provider(options.oidc);
  const sessions = new Sessions({
    vault: new Vault(join(options.dataDirectory, 'console')),
    ...(limits.sessions && { limits: limits.sessions }),
    log,
    ...(provider && { renew: (credential) => provider.renew(credential) }),
  });
  const secure = tls !== undefined || options.behindProxy === true;
  const names = [
    ...(options.names ?? []).map((name) => name.toLowerCase()),
    ...(tls === undefined ? [] : certificateNames(tls.certificate)),
  ];
  const site = { secure, names };
  let cookie: CookieStyle = cookieStyle({ secure, port: options.port });
  const targets = { kube, rest };
  const live = new Live(targets, { ...defaultLiveLimits, ...limits.live });
  const desk = new FrontDesk({
    site,
    cookie: () => cookie,
    sessions,
    signIn: new SignIn({ sessions, links: new Links(), upstream: kube.upstream, ways: ['token', 'link', ...(provider ? ['oidc'] : [])] }),
    oidc: provider && new OidcSignIn({ provider, site, cookie: () => cookie, log }),
    pages: new Pages(options.pagesDirectory),
    targets,
    live,
    relayLimits: { ...defaultRelayLimits, ...limits.relay },
    socketsPerSession: limits.socketsPerSession ?? 64,
    metrics,
    log,
  });
  metrics.gauge('capstan_console_sessions', 'Sessions.', { read: () => sessions.count });
  metrics.gauge('capstan_console_tabs', 'Open streams of tabs.', { read: () => live.tabs });
  const server = stack.use(await startServer(options, desk, { limits: { ...defaultServerLimits, ...limits }, metrics }));
  // Before the server: it waits for what sessions have open.
  stack.use(sessions);
  cookie = cookieStyle({ secure, port: server.port });
  const owned = stack.move();
  return {
    port: server.port,
    healthPort: healthServer.port,
    replaceCertificate: (renewed) => server.replaceCertificate(renewed),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}
