import { type ClusterId, rootCluster } from '@capstan/api';
import { queryBoolean } from '@capstan/machinery';
import { MalformedUrl } from './malformed-url.ts';
import { type Place, parsePlace, plain } from './place.ts';

/** The target of a request according to its path and method, before authentication and before any lookup. */
export interface ParsedRequest {
  /** The start of the path. */
  readonly place: Place;
  /** The id of the workspace, or `*`. Empty until the place has been looked up: only that makes an id of text. */
  readonly cluster: ClusterId | '';
  /** The path without the workspace prefix and without the query. */
  readonly path: string;
  readonly query: Query;
  readonly method: string;
  readonly isResource: boolean;
  /** `api` or `apis` for paths below them, otherwise empty. */
  readonly apiPrefix: '' | 'api' | 'apis';
  readonly verb: string;
  readonly group: string;
  readonly version: string;
  readonly namespace: string;
  readonly resource: string;
  readonly subresource: string;
  readonly name: string;
  /** The path after the subresource, as in pods/x/proxy/some/path. */
  readonly rest: string;
}

/** The query parameters; each may be given more than once. */
export class Query {
  static readonly none = new Query('');
  readonly #values: Map<string, string[]> | undefined;

  constructor(text: string) {
    if (text === '') return;
    this.#values = new Map();
    for (const part of text.split('&')) {
      if (part === '') continue;
      const equals = part.indexOf('=');
      const key = decoded(equals < 0 ? part : part.slice(0, equals));
      const value = equals < 0 ? '' : decoded(part.slice(equals + 1));
      // Parameters that cannot be decoded are ignored, like unknown ones.
      if (key === undefined || value === undefined || part.includes(';')) continue;
      const list = this.#values.get(key);
      if (list === undefined) this.#values.set(key, [value]);
      else list.push(value);
    }
  }

  get isEmpty(): boolean {
    return this.#values === undefined;
  }

  get(key: string): string | null {
    return this.#values?.get(key)?.[0] ?? null;
  }

  getAll(key: string): string[] {
    return this.#values?.get(key) ?? [];
  }
}

/** A decoded part of a query; undefined if its escapes are invalid. */
function decoded(text: string): string | undefined {
  const spaced = text.includes('+') ? text.replaceAll('+', ' ') : text;
  if (!spaced.includes('%')) return spaced;
  try {
    return decodeURIComponent(spaced);
  } catch {
    return undefined;
  }
}

/** A decoded part of a path. */
function decode(text: string): string {
  const found = decoded(text);
  if (found === undefined) throw new MalformedUrl(`invalid URL escape in ${JSON.stringify(text)}`);
  return found;
}

const verbs: Readonly<Record<string, string>> = {
  GET: 'get',
  POST: 'create',
  PUT: 'update',
  PATCH: 'patch',
  DELETE: 'delete',
};

/** Subresources of namespaces; any other word after a namespace's name is a resource inside it. */
const namespaceSubresources = new Set(['status', 'finalize']);

export function parseRequest(method: string, url: string): ParsedRequest {
  const mark = url.indexOf('?');
  const query = mark < 0 ? Query.none : new Query(url.slice(mark + 1));
  const { place, rest: path } = parsePlace(mark < 0 ? url : url.slice(0, mark), decode);
  const cluster = place.kind === 'plain' ? rootCluster : '';
  const other = (): ParsedRequest => ({ ...nothing, place, cluster, path, query, method, verb: method.toLowerCase() });
  const segments = split(path);
  const prefix = segments[0];
  // We serve no path with an empty segment.
  if ((prefix !== 'api' && prefix !== 'apis') || path.includes('//')) return other();
  const start = prefix === 'api' ? 2 : 3;
  if (segments.length <= start) return { ...other(), apiPrefix: prefix };
  const group = prefix === 'api' ? '' : segments[1]!;
  const version = segments[start - 1]!;
  let rest = segments.slice(start);
  let verb = verbs[method] ?? '';
  if (rest[0] === 'watch' && rest.length > 1) {
    verb = 'watch';
    rest = rest.slice(1);
  }
  let namespace = '';
  if (rest[0] === 'namespaces') {
    namespace = rest[1] ?? '';
    if (rest.length > 2 && !(rest.length === 3 && namespaceSubresources.has(rest[2]!))) rest = rest.slice(2);
  }
  const [resource = '', name = '', subresource = '', ...tail] = rest;
  // Those behind a proxy may answer HEAD; no other resource does.
  if (method === 'HEAD' && subresource === 'proxy') verb = 'get';
  if (verb === 'get' && name === '') verb = 'list';
  if (verb === 'list' && queryBoolean(query.get('watch'))) verb = 'watch';
  // A list or watch of a single name by field selector is authorized by rules for that name.
  const selected = name === '' && (verb === 'list' || verb === 'watch') ? nameInSelector(query.get('fieldSelector') ?? '') : '';
  if (verb === 'delete' && name === '') verb = 'deletecollection';
  const named = name === '' ? selected : name;
  return {
    place,
    cluster,
    path,
    query,
    method,
    isResource: true,
    apiPrefix: prefix,
    verb,
    group,
    version,
    namespace,
    resource,
    subresource,
    name: named,
    rest: tail.join('/'),
  };
}

const nothing: ParsedRequest = {
  place: plain,
  cluster: '',
  path: '',
  query: Query.none,
  method: '',
  isResource: false,
  apiPrefix: '',
  verb: '',
  group: '',
  version: '',
  namespace: '',
  resource: '',
  subresource: '',
  name: '',
  rest: '',
};

function split(path: string): string[] {
  const segments: string[] = [];
  for (const part of path.split('/')) if (part !== '') segments.push(part.includes('%') ? decode(part) : part);
  return segments;
}

function nameInSelector(selector: string): string {
  if (!selector.includes('metadata.name')) return '';
  for (const part of selector.split(',')) {
    const match = /^metadata\.name==?([^=!]+)$/.exec(part);
    if (match) return match[1]!;
  }
  return '';
}
