import { ApiError, LineSplitter, type Received } from '@capstan/client';
import { isObject, type KubeObject, type Status } from '@capstan/machinery';
import { writePatiently } from '@capstan/serving';
import { Problem, problemOf } from '../problems/problem.ts';
import type { Call, Reply } from '../routes/call.ts';
import { toRest } from './mapping.ts';
import { type Place, placeOf } from './place.ts';
import type { RestResource } from './resource.ts';
import { isVersion } from './version.ts';

/** The API server sends a bookmark about every minute; two missing ones mean a dead connection. */
const longestSilence = 150_000;
const initialEnd = 'k8s.io/initial-events-end';

interface Frame {
  readonly type: string;
  readonly object: KubeObject;
}

export function wantsEvents({ incoming, query }: Call): boolean {
  return query.get('watch') === 'true' || (incoming.headers.accept ?? '').includes('text/event-stream');
}

/**
 * `GET /<path>?watch=true`: changes as server-sent events. A new stream begins with an `added` for every object that exists, and `synced` after the last of them. From there
 * on every event has an id, with which a reader continues. `reset` means that the id is too old: forget everything and begin anew.
 */
export async function sendEvents(resource: RestResource, call: Call): Promise<Reply> {
  const { upstream, authorization, response, streams } = call;
  if (call.query.has('phase')) throw new Problem('invalid_parameter', 'phase: lists can be filtered by phase, events cannot.');
  const place = await placeOf(resource, call);
  using stream = streams.begin(authorization, response);
  const { signal } = stream;
  const since = lastId(call);
  let answer: Received;
  try {
    answer = await upstream.open({ method: 'GET', path: watchPath(call, place, since), authorization, signal });
    stream.accept();
  } catch (error) {
    if (!isTooOld(error)) throw error;
    openStream(call);
    response.end(resetText());
    return 'sent';
  }
  openStream(call);
  const heartbeat = setInterval(() => response.write(': waiting\n\n'), streams.limits.heartbeat);
  try {
    await relay(answer, call, new EventWriter(place.workspace, since !== undefined));
    response.end();
  } catch (error) {
    if (!signal.aborted) response.write(`event: error\ndata: ${JSON.stringify(problemOf(error).body(''))}\n\n`);
    response.end();
  } finally {
    clearInterval(heartbeat);
    answer.destroy();
  }
  return 'sent';
}

function openStream({ response }: Call): void {
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store', 'x-accel-buffering': 'no' });
  response.write('retry: 2000\n\n');
}

function relay(answer: Received, { response, streams }: Call, writer: EventWriter): Promise<void> {
  let text = '';
  const lines = new LineSplitter((line) => {
    text += writer.textOf(JSON.parse(line) as Frame);
  });
  return answer.read(longestSilence, (piece) => {
    if (response.destroyed) return answer.destroy();
    lines.push(piece);
    if (text === '') return undefined;
    const chunk = text;
    text = '';
    // The API server is not read while the reader is slow, so nothing piles up here.
    const waiting = writePatiently(response, chunk, streams.limits.patience);
    if (writer.isOver) answer.destroy();
    return waiting;
  });
}

class EventWriter {
  readonly #workspace: string;
  #isSynced: boolean;
  isOver = false;

  constructor(workspace: string, isSynced: boolean) {
    this.#workspace = workspace;
    this.#isSynced = isSynced;
  }

  textOf({ type, object }: Frame): string {
    if (type === 'ERROR') {
      const { code = 500, message = '' } = object as unknown as Status;
      this.isOver = true;
      if (code === 410) return resetText();
      throw ApiError.of(code, JSON.stringify({ ...object, message }));
    }
    const version = object.metadata.resourceVersion ?? '';
    if (type === 'BOOKMARK') {
      if (object.metadata.annotations?.[initialEnd] !== 'true')
        return this.#isSynced ? `event: bookmark\nid: ${version}\ndata: {}\n\n` : '';
      this.#isSynced = true;
      return `event: synced\nid: ${version}\ndata: ${JSON.stringify({ version })}\n\n`;
    }
    // The first objects arrive in any order, so their versions are no place to go on from.
    const id = this.#isSynced ? `id: ${version}\n` : '';
    return `event: ${type.toLowerCase()}\n${id}data: ${JSON.stringify(toRest(object, this.#workspace))}\n\n`;
  }
}

/** The empty id makes readers forget theirs. */
function resetText(): string {
  return 'event: reset\nid\ndata: {"detail":"The history does not go back that far. Forget all objects and connect again without Last-Event-ID."}\n\n';
}

function watchPath(call: Call, { collection }: Place, since: string | undefined): string {
  const labels = call.query.get('label') ?? '';
  const from =
    since === undefined ? 'sendInitialEvents=true&resourceVersionMatch=NotOlderThan' : `resourceVersion=${encodeURIComponent(since)}`;
  const select = labels === '' ? '' : `&labelSelector=${encodeURIComponent(labels)}`;
  return `${collection}?watch=true&allowWatchBookmarks=true&${from}${select}`;
}

function lastId({ incoming }: Call): string | undefined {
  const given = incoming.headers['last-event-id'];
  if (given === undefined || given === '') return undefined;
  if (typeof given === 'string' && isVersion(given)) return given;
  throw new Problem('invalid_request', 'Last-Event-ID: expected the id of an event of this stream.');
}

function isTooOld(error: unknown): boolean {
  if (!(error instanceof ApiError) || !isObject(error.status)) return false;
  return error.code === 410 || error.reason === 'Expired' || error.reason === 'Gone';
}
