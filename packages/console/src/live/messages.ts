import { fieldsOf, isObject, type Status } from '@capstan/machinery';

/** A list to follow, as the page describes it. */
export interface Selection {
  /** Of the collection at the API server, without a query. */
  readonly path: string;
  readonly labels?: string;
  readonly fields?: string;
}

export interface Sampling {
  /** Below `/kube` or `/rest`. */
  readonly address: string;
  readonly seconds: number;
}

/** A message of a page. */
export type PageMessage =
  | { readonly type: 'follow'; readonly key: string; readonly selection: Selection }
  | { readonly type: 'sample'; readonly key: string; readonly sampling: Sampling }
  | { readonly type: 'remove'; readonly key: string };

const longestKey = 4_000;
const longestText = 4_000;
const leastSeconds = 2;
const mostSeconds = 3_600;

/** Parses a message. Throws a `TypeError` that says what is wrong with it. */
export function parseMessage(text: string): PageMessage {
  const message = parsed(text);
  if ('remove' in message) return { type: 'remove', key: keyOf(message['remove']) };
  const key = keyOf(message['add']);
  const { path, sample } = message;
  if (typeof path === 'string') return { type: 'follow', key, selection: selectionOf(path, message['selector']) };
  if (typeof sample !== 'string' || !/^\/(kube|rest)\//.test(sample) || sample.length > longestText)
    throw new TypeError('expected "path", the path of a list, or "sample", an address below /kube or /rest');
  const seconds = Number(message['seconds'] ?? leastSeconds);
  if (!Number.isFinite(seconds)) throw new TypeError('expected "seconds" to be a number');
  return { type: 'sample', key, sampling: { address: sample, seconds: Math.min(Math.max(seconds, leastSeconds), mostSeconds) } };
}

function parsed(text: string): Readonly<Record<string, unknown>> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new TypeError('expected JSON');
  }
  if (!isObject(value)) throw new TypeError('expected an object');
  return value;
}

function keyOf(value: unknown): string {
  if (typeof value === 'string' && value !== '' && value.length <= longestKey) return value;
  throw new TypeError(`expected a key of 1 to ${longestKey} characters in "add" or "remove"`);
}

/** Selectors may be members of their own, a text for labels, or the query of the path. */
function selectionOf(path: string, selector: unknown): Selection {
  const [before = '', query = ''] = path.split('?');
  const parameters = new URLSearchParams(query);
  const { labels = parameters.get('labelSelector'), fields = parameters.get('fieldSelector') } =
    typeof selector === 'string' ? { labels: selector } : fieldsOf(selector);
  for (const one of [before, labels, fields])
    if (typeof one === 'string' && one.length > longestText) throw new TypeError(`expected texts of at most ${longestText} characters`);
  return {
    path: before,
    ...(typeof labels === 'string' && labels !== '' && { labels }),
    ...(typeof fields === 'string' && fields !== '' && { fields }),
  };
}

/** The end of a message with a list; the items are JSON already. */
export function listMessage(
  key: string,
  { items, resourceVersion }: { readonly items: Iterable<string>; readonly resourceVersion: string },
): string {
  return `{"key":${JSON.stringify(key)},"type":"list","items":[${[...items].join(',')}],"resourceVersion":${JSON.stringify(resourceVersion)}}`;
}

/** The changes are JSON already. */
export function changesMessage(key: string, changes: readonly string[]): string {
  return `{"key":${JSON.stringify(key)},"type":"changes","changes":[${changes.join(',')}]}`;
}

/** The value is JSON already. */
export function sampleMessage(key: string, value: string): string {
  return `{"key":${JSON.stringify(key)},"type":"sample","value":${value}}`;
}

export function errorMessage(key: string | undefined, status: Status): string {
  return JSON.stringify({ ...(key !== undefined && { key }), type: 'error', status });
}

/** Whether the API server answers, and since when it does not. */
export type UpstreamState = { readonly upstream: 'lost'; readonly since: string } | { readonly upstream: 'restored' };

export function connectionMessage(state: UpstreamState): string {
  return JSON.stringify({ type: 'connection', ...state });
}
