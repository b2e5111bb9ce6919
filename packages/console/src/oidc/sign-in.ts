import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Site } from '../guard/origin.ts';
import { Refusal } from '../guard/refusal.ts';
import { commonHeaders, dataPolicy } from '../pages/policy.ts';
import { type CookieStyle, readCookie } from '../sessions/cookie.ts';
import type { Credential } from '../sessions/session.ts';
import { Flows, pageOf } from './flows.ts';
import { type Provider, ProviderError } from './provider.ts';

export interface OidcOptions {
  readonly provider: Provider;
  readonly site: Site;
  /** Of the session; the one of a flow is called after it. */
  readonly cookie: () => CookieStyle;
  readonly log: (line: string) => void;
}

/** In the address of the sign-in page: why the way back from the provider led nowhere. */
type Trouble = 'denied' | 'expired' | 'provider' | 'refused';

export const oidcPath = '/session/oidc';
const callbackPath = `${oidcPath}/callback`;
const cookieAge = 600;

/** Signs in at an OpenID provider: with PKCE, a nonce, and a cookie that binds the flow to the browser in which it began. */
export class OidcSignIn {
  readonly #options: OidcOptions;
  readonly #flows: Flows;

  constructor(options: OidcOptions, flows = new Flows()) {
    this.#options = options;
    this.#flows = flows;
  }

  /** `GET /session/oidc`: leads to the provider. */
  async begin({ url = '', headers: { host = '' } }: IncomingMessage, response: ServerResponse): Promise<void> {
    const { secure } = this.#options.site;
    const page = pageOf(new URL(url, 'http://console').searchParams.get('page'));
    const flow = this.#flows.begin(`${secure ? 'https' : 'http'}://${host}${callbackPath}`, page);
    let address: string;
    try {
      address = await this.#options.provider.address(flow);
    } catch (error) {
      throw this.#failed(error);
    }
    this.#lead(response, address, this.#flowCookie(flow.browser, cookieAge));
  }

  /**
   * `GET /session/oidc/callback`: calls `signIn` with the tokens, and leads to the page where the flow began. Returns the headers that set cookies from `signIn`
   * to the browser.
   */
  async finish(
    { url = '', headers: { cookie } }: IncomingMessage,
    response: ServerResponse,
    signIn: (credential: Credential) => Promise<string>,
  ): Promise<void> {
    const { searchParams } = new URL(url, 'http://console');
    const gone = this.#flowCookie('', 0);
    const flow = this.#flows.finish(searchParams.get('state') ?? '', readCookie(cookie, this.#flowStyle()));
    if (flow === undefined) return this.#lead(response, trouble('expired'), gone);
    const code = searchParams.get('code') ?? '';
    if (code === '') return this.#lead(response, trouble('denied'), gone);
    try {
      this.#lead(response, flow.page, gone, await signIn(await this.#options.provider.redeem({ ...flow, code })));
    } catch (error) {
      if (error instanceof Refusal) return this.#lead(response, trouble('refused'), gone);
      this.#failed(error);
      this.#lead(response, trouble('provider'), gone);
    }
  }

  /** `SameSite=Lax`: the way back from the provider begins at another site. */
  #flowCookie(value: string, age: number): string {
    const { name, secure } = this.#flowStyle();
    return `${name}=${value}; Path=${oidcPath}; HttpOnly; SameSite=Lax; Max-Age=${age}${secure ? '; Secure' : ''}`;
  }

  #flowStyle(): CookieStyle {
    const { name, secure } = this.#options.cookie();
    return { secure, name: `${name.replace('__Host-', '__Secure-')}-oidc` };
  }

  #lead(response: ServerResponse, location: string, ...cookies: string[]): void {
    response
      .writeHead(302, {
        ...commonHeaders,
        location,
        'set-cookie': cookies,
        'content-length': 0,
        'cache-control': 'no-store',
        'content-security-policy': dataPolicy,
      })
      .end();
  }

  #failed(error: unknown): Refusal {
    if (!(error instanceof ProviderError)) throw error;
    this.#options.log(`signing in at the OpenID provider failed: ${error.message}`);
    return new Refusal(
      'provider_failed',
      'The OpenID provider does not answer as expected. The operator of this console finds more in its log.',
    );
  }
}

const trouble = (what: Trouble): string => `/sign-in?trouble=${what}`;
