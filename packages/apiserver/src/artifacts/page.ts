import type { Readable } from 'node:stream';
import { type Artifact, type ArtifactList, artifactListPath, artifactsPath, largestArtifactPart } from '@capstan/api';
import { StatusError, status } from '@capstan/machinery';
import { anonymous } from '../authn/user.ts';
import type { Exchange } from '../http/exchange.ts';
import { rangeOf, sendFile } from '../http/send-file.ts';
import { sourceOf } from '../http/source.ts';
import type { Line } from '../limits/line.ts';
import { OpenCount } from '../limits/open-count.ts';
import type { Page } from '../registry/page.ts';
import { sendStream } from './send-stream.ts';
import type { ArtifactStore } from './store.ts';

/** The stores of other API servers. */
export interface OtherArtifacts {
  /** An artifact from a byte on, of the first server that has it; undefined if none has. */
  artifact(sha256: string, from: number, signal: AbortSignal): Promise<{ readonly size: number; readonly body: Readable } | undefined>;
  artifacts(signal: AbortSignal): Promise<readonly Artifact[]>;
  /** Whether any of them had it. */
  removeArtifact(sha256: string, signal: AbortSignal): Promise<boolean>;
}

/** Downloads at the same time: of all nodes, and of one address. */
const limits = { overall: 256, perLine: 64 };
const namePattern = /^[A-Za-z0-9][A-Za-z0-9._+-]{0,252}$/;
const wholeNumber = /^\d{1,15}$/;
const type = 'application/octet-stream';

/** `/capstan/artifacts/`: files for nodes. Everybody who may use the path may read all of them; they contain no secrets of tenants. */
export function artifactPages(store: ArtifactStore, others: OtherArtifacts | undefined): [string, Page][] {
  const downloads = new OpenCount({ what: 'downloads of artifacts', ...limits });
  return [
    [
      artifactListPath,
      async (exchange, { method }) => {
        if (method !== 'GET') throw status.methodNotAllowed();
        await list(exchange, store, others);
      },
    ],
    [
      artifactsPath,
      async (exchange, { method, path, query }) => {
        const sha256 = path.slice(artifactsPath.length);
        if (method === 'GET') await get(exchange, sha256, { store, others, downloads });
        else if (method === 'PUT') await put(exchange, sha256, { query, store });
        else if (method === 'DELETE') await remove(exchange, sha256, { store, others });
        else throw status.methodNotAllowed();
      },
    ],
  ];
}

type Query = Pick<URLSearchParams, 'get'>;

interface Stores {
  readonly store: ArtifactStore;
  readonly others: OtherArtifacts | undefined;
}

async function list(exchange: Exchange, store: ArtifactStore, others: OtherArtifacts | undefined): Promise<void> {
  const found = new Map(
    [...((await others?.artifacts(closedSignal(exchange))) ?? []), ...(await store.list())].map((one) => [one.sha256, one]),
  );
  const artifacts = [...found.values()].sort((one, other) => (one.addedAt < other.addedAt ? -1 : 1));
  json(exchange, { artifacts } satisfies ArtifactList);
}

async function get(
  exchange: Exchange,
  sha256: string,
  { store, others, downloads }: Stores & { readonly downloads: OpenCount },
): Promise<void> {
  const source = sourceOf(exchange.remoteAddress);
  const line: Line = { level: 'people', tenant: source, workspace: source, user: source };
  downloads.open(line, anonymous);
  exchange.onClose(() => downloads.close(line));
  const tag = `"${sha256}"`;
  if ((await store.find(sha256)) !== undefined) return sendFile(exchange, { file: store.pathOf(sha256), type, tag });
  const from = Number(/^bytes=(\d{1,15})-$/.exec(exchange.headers.range ?? '')?.[1] ?? 0);
  const signal = closedSignal(exchange);
  const found = await others?.artifact(sha256, from, signal);
  if (found === undefined) throw missing(sha256);
  const range = from === 0 ? undefined : rangeOf(exchange.headers.range, found.size);
  if (range === 'unsatisfiable') {
    found.body.destroy();
    exchange.header('Content-Range', `bytes */${found.size}`);
    return exchange.send({ code: 416, type: 'text/plain; charset=utf-8', body: `the file has ${found.size} bytes\n` });
  }
  if (range !== undefined) exchange.header('Content-Range', `bytes ${range.first}-${range.last}/${found.size}`);
  exchange.header('ETag', tag);
  exchange.header('Accept-Ranges', 'bytes');
  const answer = exchange.stream(range === undefined ? 200 : 206, type, found.size - from);
  void sendStream(found.body, { exchange, answer });
}

async function put(
  exchange: Exchange,
  sha256: string,
  { query, store }: { readonly query: Query; readonly store: ArtifactStore },
): Promise<void> {
  const [offset, size, name] = [query.get('offset') ?? '', query.get('size') ?? '', query.get('name') ?? sha256];
  if (!wholeNumber.test(offset) || !wholeNumber.test(size) || !namePattern.test(name))
    throw status.badRequest(`expected ${artifactsPath}<sha256>?offset=<bytes>&size=<bytes>&name=<letters, digits and . _ + ->`);
  const bytes = await exchange.body(largestArtifactPart);
  try {
    json(exchange, await store.append(sha256, { name, offset: Number(offset), size: Number(size), bytes }));
  } catch (error) {
    throw diskError(error);
  }
}

async function remove(exchange: Exchange, sha256: string, { store, others }: Stores): Promise<void> {
  const here = await store.remove(sha256);
  const elsewhere = (await others?.removeArtifact(sha256, closedSignal(exchange))) ?? false;
  if (!here && !elsewhere) throw missing(sha256);
  json(exchange, {});
}

function closedSignal(exchange: Exchange): AbortSignal {
  const gone = new AbortController();
  exchange.onClose(() => gone.abort());
  return gone.signal;
}

function missing(sha256: string): StatusError {
  return new StatusError({
    code: 404,
    reason: 'NotFound',
    message: `there is no artifact ${sha256}; add the file with "capstan artifact add"`,
  });
}

function json(exchange: Exchange, body: object): void {
  exchange.send({ code: 200, type: 'application/json', body: JSON.stringify(body) });
}

const full: ReadonlySet<string> = new Set(['ENOSPC', 'EDQUOT', 'EROFS']);

function diskError(error: unknown): unknown {
  const code = (error as NodeJS.ErrnoException | undefined)?.code;
  return typeof code === 'string' && full.has(code) ? status.serviceUnavailable(`the store of artifacts has no room: ${code}`) : error;
}
