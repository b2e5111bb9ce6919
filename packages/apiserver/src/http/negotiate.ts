import { status } from '@capstan/machinery';

export type Format = 'json' | 'yaml' | 'protobuf';
/** What an answer is turned into on its way out. */
export type Shape = 'object' | 'Table' | 'PartialObjectMetadata' | 'PartialObjectMetadataList';

export interface Negotiated {
  readonly format: Format;
  readonly shape: Shape;
  /** The version of meta.k8s.io in which the shape is wanted. */
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
 * Reads an Accept header. Kinds that users added have no protobuf, only their metadata has: whoever asks for it gets the next that they take. Answers are kept:
 * clients send the same few.
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

/** Whether a client that asks for protobuf takes JSON as well, and nothing but whole objects. */
export function takesJson(accept: string): boolean {
  if (accept.includes('as=')) return false;
  const others = choose(accept, false);
  return !(others instanceof Error) && others.format === 'json';
}

/** As `negotiate`, for an answer that goes on: there is none in YAML. */
export function negotiateWatch(accept: string | undefined, hasProtobuf = true): Negotiated {
  const wanted = negotiate(accept, hasProtobuf);
  if (wanted.format === 'yaml') throw status.notAcceptable(watched);
  return wanted;
}

/** The format for what has no other shape, such as an error. Clients that take none of ours get JSON. */
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

/** No media type of ours at all: answered a little differently by Kubernetes, before any object is looked for. */
export class NotAcceptable extends Error {
  constructor(offered: readonly string[] = accepted) {
    super(`406: Not Acceptable\n\nAvailable representations: ${offered.join(', ')}`);
  }
}

/** What a path that answers lists can also send. */
export const acceptedForLists = [...accepted, ...watched];

/**
 * Paths of built-in kinds look at media types by name before anything else: ranges such as `application/*` are nothing to them.
 */
export function requireOffered(accept: string | undefined, offered: readonly string[] = accepted): void {
  if (accept === undefined || accept === '' || accept.includes('*/*')) return;
  for (const clause of accept.split(',')) if (offered.includes(clause.split(';', 1)[0]!.trim())) return;
  throw new NotAcceptable(offered);
}

/** What is wanted most comes first; of what is wanted as much, what is named before what a range covers. */
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
