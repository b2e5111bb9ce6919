import { randomBytes } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { extname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { Refusal } from '../guard/refusal.ts';
import { commonHeaders, noncePlaceholder, pagePolicy } from './policy.ts';

const types: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.ico': 'image/x-icon',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json',
  '.map': 'application/json',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.txt': 'text/plain; charset=utf-8',
  '.webmanifest': 'application/manifest+json',
  '.woff2': 'font/woff2',
};
/** Compressed copies beside a file, the best first. */
const encodings = [
  ['br', '.br'],
  ['gzip', '.gz'],
] as const;
const assets = '/assets/';
/** No hidden file, and nothing that leads out of the directory. */
const filePath = /^(\/[\w@~-][\w.@~-]*)+$/;
const immutable = 'public, max-age=31536000, immutable';

/** Serves the files of the pages. Files below `assets/` have their hash in their name. */
export class Pages {
  readonly #directory: string;

  constructor(directory: string) {
    this.#directory = directory;
  }

  async serve(incoming: IncomingMessage, response: ServerResponse, path: string): Promise<void> {
    if (incoming.method !== 'GET' && incoming.method !== 'HEAD') throw new Refusal('method_not_allowed', 'Expected GET.');
    const file = await this.#find(path);
    if (file !== undefined) return await send({ incoming, response }, file);
    if (path.startsWith(assets))
      throw new Refusal('not_found', 'There is no such file. Reload the page: the console may have been updated.');
    await this.#sendIndex(incoming, response);
  }

  async #find(path: string): Promise<FoundFile | undefined> {
    const type = types[extname(path)];
    if (type === undefined || !filePath.test(path) || path === '/index.html') return undefined;
    const file = join(this.#directory, path);
    const facts = await stat(file).catch(() => undefined);
    if (facts?.isFile() !== true) return undefined;
    return { file, type, size: facts.size, changedAt: facts.mtimeMs, isImmutable: path.startsWith(assets) };
  }

  /** Every address of a page is this file; the page reads the address. */
  async #sendIndex(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const text = await readFile(join(this.#directory, 'index.html'), 'utf8').catch(() => undefined);
    if (text === undefined)
      throw new Refusal(
        'unavailable',
        'The pages of the console are not built. Run "npm run build", or name their directory in "pagesDirectory".',
      );
    const nonce = randomBytes(16).toString('base64');
    const body = text.replaceAll(noncePlaceholder, nonce);
    response.writeHead(200, {
      ...commonHeaders,
      'content-type': types['.html'],
      'content-length': Buffer.byteLength(body),
      'cache-control': 'no-store',
      'content-security-policy': pagePolicy(nonce),
    });
    response.end(incoming.method === 'HEAD' ? undefined : body);
  }
}

interface FoundFile {
  readonly file: string;
  readonly type: string;
  readonly size: number;
  readonly changedAt: number;
  readonly isImmutable: boolean;
}

async function send({ incoming, response }: { incoming: IncomingMessage; response: ServerResponse }, found: FoundFile): Promise<void> {
  const etag = `"${found.size.toString(36)}-${Math.floor(found.changedAt).toString(36)}"`;
  const headers = {
    ...commonHeaders,
    etag,
    'cache-control': found.isImmutable ? immutable : 'no-cache',
    vary: 'accept-encoding',
    // An image that is opened as a document must not run anything either.
    'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; sandbox",
  };
  if (incoming.headers['if-none-match'] === etag) {
    response.writeHead(304, headers).end();
    return;
  }
  const { file, size, encoding } = await compressed(found, incoming.headers['accept-encoding'] ?? '');
  response.writeHead(200, {
    ...headers,
    'content-type': found.type,
    'content-length': size,
    ...(encoding !== undefined && { 'content-encoding': encoding }),
  });
  if (incoming.method === 'HEAD') response.end();
  else await pipeline(createReadStream(file), response);
}

async function compressed({ file, size }: FoundFile, accepted: string) {
  const offered = new Set(accepted.split(',').flatMap((one) => (/;\s*q=0(\.0*)?\s*$/.test(one) ? [] : [one.split(';')[0]!.trim()])));
  for (const [encoding, suffix] of encodings) {
    const facts = offered.has(encoding) ? await stat(file + suffix).catch(() => undefined) : undefined;
    if (facts?.isFile() === true) return { file: file + suffix, size: facts.size, encoding };
  }
  return { file, size };
}
