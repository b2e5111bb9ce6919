import type { Random } from './random.ts';
import type { RequestSource } from './request-source.ts';
import type { FuzzedRequest } from './requests.ts';
import { anyJson, anyText, mutated } from './values.ts';

const pages = ['/', '/index.html', '/assets/x.js', '/units', '/../package.json', '/%2e%2e/%2e%2e/etc/passwd', '/sign-in/oidc', '/live'];

/** Requests to the console: sessions, pages, and whatever others are relayed, with and without the marks of its own pages. */
export class ConsoleRequests implements RequestSource {
  readonly #random: Random;
  readonly #relayed: { readonly kube: RequestSource; readonly rest: RequestSource };
  readonly #cookie: string;
  readonly #origin: string;

  constructor(
    random: Random,
    options: { readonly port: number; readonly cookie: string; readonly kube: RequestSource; readonly rest: RequestSource },
  ) {
    this.#random = random;
    this.#relayed = options;
    this.#cookie = options.cookie;
    this.#origin = `http://127.0.0.1:${options.port}`;
  }

  next(): FuzzedRequest {
    const random = this.#random;
    const choice = random.below(10);
    const made = choice < 4 ? this.#through('kube') : choice < 7 ? this.#through('rest') : choice < 9 ? this.#session() : this.#page();
    return { ...made, label: `console:${made.label}`, headers: { ...this.#own(), ...made.headers } };
  }

  #through(part: 'kube' | 'rest'): FuzzedRequest {
    const request = this.#relayed[part].next();
    return { ...request, path: `/${part}${request.path}` };
  }

  #session(): FuzzedRequest {
    const random = this.#random;
    const text = JSON.stringify(random.pick([{ token: anyText(random) }, { code: anyText(random) }, anyJson(random)]));
    return {
      label: 'session',
      method: random.pick(['GET', 'POST', 'POST', 'PUT']),
      path: random.pick(['/session', '/session/links', '/session/x']),
      body: random.chance(0.1) ? mutated(random, text) : text,
    };
  }

  #page(): FuzzedRequest {
    const random = this.#random;
    const headers: Record<string, string> = {};
    if (random.chance(0.3)) headers['accept-encoding'] = random.pick(['gzip', 'br', 'x']);
    if (random.chance(0.3)) headers['range'] = random.pick(['bytes=0-1', 'bytes=-1', 'x']);
    if (random.chance(0.4))
      Object.assign(headers, {
        connection: 'Upgrade',
        upgrade: 'websocket',
        'sec-websocket-key': random.pick(['YWFhYWFhYWFhYWFhYWFhYQ==', 'x']),
        'sec-websocket-version': random.pick(['13', '1']),
      });
    return { label: 'page', method: 'GET', path: random.pick(pages), headers };
  }

  #own(): Readonly<Record<string, string>> {
    const random = this.#random;
    return {
      host: random.chance(0.98) ? this.#origin.replace('http://', '') : 'example.com',
      ...(random.chance(0.9) && { cookie: random.chance(0.95) ? this.#cookie : `${this.#cookie}x; ${this.#cookie}` }),
      ...(random.chance(0.9) && { origin: random.chance(0.95) ? this.#origin : 'null' }),
      ...(random.chance(0.9) && { 'x-capstan-console': '1' }),
    };
  }
}
