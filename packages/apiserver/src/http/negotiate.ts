import { status } from '@capstan/machinery';

export type Format = 'json' | 'yaml' | 'protobuf';
/** The form in which an object is sent. */
export type Shape = 'object' | 'Table' | 'PartialObjectMetadata' | 'PartialObjectMetadataList';

export interface Negotiated {
  readonly format: Format;
  readonly shape: Shape;
  /** The version of meta.k8s.io of the requested shape. */
  readonly shapeVersion: string;
}

const mediaTypes: ReadonlyMap<string, Format> = new Map([
  ['application/json', 'json'],
  ['application/yaml', 'yaml'],
  ['application/vnd.kubernetes.protobuf', 'protobuf'],
]);
export const accepted = [...mediaTypes.keys()];
const watched = ['application/json;stream=watch', 'application/vnd.kubernetes.protobuf;stream=watch'];
const shapes = new Set(['Table', 'PartialObjectMetadata', 'PartialObjectMetadataList']);

const plain: Negotiated = { format: 'json', shape: 'object', shapeVersion: 'v1' };
const known = new Map<string, Negotiated | Error>();
const knownWithoutProtobuf = new Map<string, Negotiated | Error>();

/**
 * Parses an Accept header. Custom resources have no protobuf encoding, except for their metadata: clients that ask for it get
 * their next choice. Results are cached, as clients send the same few headers.
 */
export function negotiate(accept: string | undefined, hasProtobuf = true): Negotiated {
  if (accept === undefined || accept === '' || accept === 'application/json' || accept === '*/*') return plain;
  const answers = hasProtobuf ? known : knownWithoutProtobuf;
  let found = answers.get(accept);
  if (found === undefined) {
    found = choose(accept, hasProtobuf);
    if (answers.size > 500) answers.clear();
    answers.set(accept, found);
  }
  if (found instanceof Error) throw found;
  return found;
}

/** Whether a client that asks for protobuf also accepts JSON, and nothing but whole objects. */
export function takesJson(accept: string): boolean {
  if (accept.includes('as=')) return false;
  const others = choose(accept, false);
  return !(others instanceof Error) && others.format === 'json';
}

/** Like `negotiate`, but for streams, which are not available in YAML. */
export function negotiateWatch(accept: string | undefined, hasProtobuf = true): Negotiated {
  const wanted = negotiate(accept, hasProtobuf);
  if (wanted.format === 'yaml') throw status.notAcceptable(watched);
  return wanted;
}

/** The format of responses with only one shape, such as errors. Clients that accept none of our formats get JSON. */
export function plainFormat(accept: string | undefined): Format {
  if (accept === undefined || (!accept.includes('yaml') && !accept.includes('protobuf'))) return 'json';
  const plainClauses = accept.split(',').filter((clause) => !clause.includes('as='));
  const chosen = plainClauses.length === 0 ? undefined : choose(plainClauses.join(','), true);
  return chosen === undefined || chosen instanceof Error ? 'json' : chosen.format;
}

export interface Clause {
  readonly type: string;
  readonly parameters: ReadonlyMap<string, string>;
  readonly quality: number;
}

function choose(accept: string, hasProtobuf: boolean): Negotiated | Error {
  for (const clause of readClauses(accept)) {
    const format = formatOf(clause.type);
    if (format === undefined) continue;
    const as = clause.parameters.get('as');
    if (as === undefined) {
      if (format === 'protobuf' && !hasProtobuf) continue;
      return { ...plain, format };
    }
    const version = clause.parameters.get('v') ?? '';
    if (!shapes.has(as) || clause.parameters.get('g') !== 'meta.k8s.io' || (version !== 'v1' && version !== 'v1beta1')) continue;
    if (format === 'protobuf' && as === 'Table') continue;
    return { format, shape: as as Shape, shapeVersion: version };
  }
  return status.notAcceptable(accepted);
}

/** The client accepts none of our media types: Kubernetes reports this a little differently, before it looks up any object. */
export class NotAcceptable extends Error {
  constructor(offered: readonly string[] = accepted) {
    super(`406: Not Acceptable\n\nAvailable representations: ${offered.join(', ')}`);
  }
}

/** The media types of paths that serve lists, which can also be watched. */
export const acceptedForLists = [...accepted, ...watched];

/** Paths of built-in kinds first compare media types by name: ranges such as `application/*` do not match there. */
export function requireOffered(accept: string | undefined, offered: readonly string[] = accepted): void {
  if (accept === undefined || accept === '' || accept.includes('*/*')) return;
  for (const clause of accept.split(',')) if (offered.includes(clause.split(';', 1)[0]!.trim())) return;
  throw new NotAcceptable(offered);
}

/** Clauses by descending preference; with equal preference, specific types come before ranges. */
export function readClauses(accept: string): Clause[] {
  return accept
    .split(',')
    .map(readClause)
    .sort((a, b) => b.quality - a.quality || breadth(a.type) - breadth(b.type));
}

function breadth(type: string): number {
  if (!type.endsWith('/*')) return 0;
  return type === '*/*' ? 2 : 1;
}

export function formatOf(type: string): Format | undefined {
  return type === '*/*' || type === 'application/*' ? 'json' : mediaTypes.get(type);
}

function readClause(text: string): Clause {
  const [type = '', ...rest] = text.split(';').map((part) => part.trim());
  const parameters = new Map<string, string>();
  for (const part of rest) {
    const equals = part.indexOf('=');
    if (equals > 0) parameters.set(part.slice(0, equals), part.slice(equals + 1));
  }
  const quality = Number(parameters.get('q') ?? '1');
  return { type, parameters, quality: Number.isNaN(quality) ? 0 : quality };
}
