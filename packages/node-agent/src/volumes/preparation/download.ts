import { createHash } from 'node:crypto';
import { lookup as resolveName } from 'node:dns';
import { createWriteStream } from 'node:fs';
import { type IncomingMessage, request as plainRequest } from 'node:http';
import { request as secureRequest } from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { VolumeProblem } from '../problem.ts';

export interface DownloadOptions {
  readonly sha256: string;
  /** In bytes. */
  readonly limit: number;
  readonly isRefused: (address: string) => boolean;
  readonly signal: AbortSignal;
  /** In milliseconds: a server that sends nothing for so long is given up. */
  readonly silence?: number;
}

const mostRedirects = 5;

/** Downloads a file of the web that a tenant has named, and checks its hash. The file may be incomplete if this rejects. */
export async function downloadFile(url: string, file: string, options: DownloadOptions): Promise<void> {
  const { sha256, limit, signal } = options;
  const incoming = await open(new URL(url), options);
  const length = Number(incoming.headers['content-length'] ?? 0);
  const hash = createHash('sha256');
  let bytes = 0;
  const counted = new Transform({
    transform(piece: Buffer, _, next) {
      bytes += piece.length;
      hash.update(piece);
      next(bytes > limit ? tooLarge(limit) : null, piece);
    },
  });
  try {
    if (length > limit) throw tooLarge(limit);
    await pipeline(incoming, counted, createWriteStream(file, { flags: 'wx', mode: 0o644 }), { signal });
  } catch (error) {
    incoming.destroy();
    signal.throwIfAborted();
    const { code, message } = error as NodeJS.ErrnoException;
    if (error instanceof VolumeProblem) throw error;
    if (code === 'ENOSPC' || code === 'EDQUOT') throw tooLarge(limit);
    throw new VolumeProblem('DownloadFailed', `the download of ${url} was interrupted: ${message}`, { cause: error });
  }
  const found = hash.digest('hex');
  if (found !== sha256)
    throw new VolumeProblem('ChecksumMismatch', `${url} has the SHA-256 ${found}, and ${sha256} was expected`, { isFinal: true });
}

const tooLarge = (limit: number): VolumeProblem =>
  new VolumeProblem('DiskFull', `the file does not fit: the storage has room for ${limit} bytes`, { isFinal: true });

/** Follows redirects; each address is checked when it is connected to, so that no name can lead somewhere else a moment later. */
async function open(url: URL, options: DownloadOptions): Promise<IncomingMessage> {
  let target = url;
  for (let hop = 0; hop <= mostRedirects; hop++) {
    const incoming = await send(target, options);
    const { statusCode = 0, headers } = incoming;
    if (statusCode === 200) return incoming;
    incoming.destroy();
    if (![301, 302, 303, 307, 308].includes(statusCode) || headers.location === undefined)
      throw new VolumeProblem('DownloadFailed', `${target.href} answers with status ${statusCode}`, {
        isFinal: statusCode >= 400 && statusCode < 500 && statusCode !== 429,
      });
    const next = URL.parse(headers.location, target.href);
    if (next === null || (next.protocol !== 'http:' && next.protocol !== 'https:'))
      throw new VolumeProblem('UrlRefused', `${target.href} redirects to something that is no web address`, { isFinal: true });
    target = next;
  }
  throw new VolumeProblem('DownloadFailed', `${url.href} redirects more than ${mostRedirects} times`, { isFinal: true });
}

async function send(url: URL, { isRefused, signal, silence = 60_000 }: DownloadOptions): Promise<IncomingMessage> {
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const refusal = (): VolumeProblem =>
    new VolumeProblem('UrlRefused', `${url.host} leads to the node itself or to a service for machines, which storages must not read`, {
      isFinal: true,
    });
  // Names are resolved below; an address is not.
  if (isIP(host) !== 0 && isRefused(host)) throw refusal();
  const checked: LookupFunction = (name, how, done) =>
    resolveName(name, { ...how, all: true }, (error, found) => {
      if (error !== null) return done(error, '', 0);
      if (found.length === 0 || found.some(({ address }) => isRefused(address))) return done(refusal(), '', 0);
      if (how.all === true) return done(null, found);
      done(null, found[0]!.address, found[0]!.family);
    });
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const send = url.protocol === 'https:' ? secureRequest : plainRequest;
  const outgoing = send(url, { agent: false, signal, lookup: checked, headers: { 'user-agent': 'capstan-node-agent' } });
  outgoing.setTimeout(silence, () => outgoing.destroy(new Error('nothing arrived for a minute')));
  outgoing.on('response', resolve);
  outgoing.on('error', (error) => {
    if (signal.aborted || error instanceof VolumeProblem) return reject(error);
    reject(new VolumeProblem('DownloadFailed', `${url.href} cannot be reached: ${error.message}`, { cause: error }));
  });
  outgoing.end();
  return promise;
}
