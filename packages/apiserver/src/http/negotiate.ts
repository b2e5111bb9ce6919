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
const shapes = new Set(['Table', 'PartialObjectMetadata', 'PartialObjectMetadataList']);

const plain: Negotiated = { format: 'json', shape: 'object', shapeVersion: 'v1' };
const known = new Map<string, Negotiated | Error>();

/** Reads an Accept header. Answers are kept: clients send the same few. */
export function negotiate(accept: string | undefined): Negotiated {
  if (accept === undefined || accept === '' || accept === 'application/json' || accept === '*/*') return plain;
  let found = known.get(accept);
  if (found === undefined) {
    found = choose(accept);
    if (known.size > 500) known.clear();
    known.set(accept, found);
  }
  if (found instanceof Error) throw found;
  return found;
}

/** The format for what has no other shape, such as an error. Clients that take none of ours get JSON. */
export function plainFormat(accept: string | undefined): Format {
  if (accept === undefined || (!accept.includes('yaml') && !accept.includes('protobuf'))) return 'json';
  const plainClauses = accept.split(',').filter((clause) => !clause.includes('as='));
  const chosen = plainClauses.length === 0 ? undefined : choose(plainClauses.join(','));
  return chosen === undefined || chosen instanceof Error ? 'json' : chosen.format;
}

interface Clause {
  readonly type: string;
  readonly parameters: ReadonlyMap<string, string>;
  readonly quality: number;
}

function choose(accept: string): Negotiated | Error {
  const clauses = accept
    .split(',')
    .map(readClause)
    .sort((a, b) => b.quality - a.quality);
  let anyMediaType = false;
  let protobuf: Negotiated | undefined;
  for (const clause of clauses) {
    const format = formatOf(clause.type);
    if (format === undefined) continue;
    anyMediaType = true;
    const as = clause.parameters.get('as');
    let result: Negotiated = { ...plain, format };
    if (as !== undefined) {
      const version = clause.parameters.get('v') ?? '';
      if (!shapes.has(as) || clause.parameters.get('g') !== 'meta.k8s.io' || (version !== 'v1' && version !== 'v1beta1')) continue;
      if (format === 'protobuf' && as === 'Table') continue;
      result = { format, shape: as as Shape, shapeVersion: version };
    }
    // Clients that take protobuf nearly always take JSON too, which we have ready. But metadata has no type in protobuf and one in JSON, and who compares listed
    // with single objects must find none.
    if (format !== 'protobuf' || as !== undefined) return result;
    protobuf ??= result;
  }
  if (protobuf !== undefined) return protobuf;
  if (anyMediaType) return status.notAcceptable(accepted);
  return new NotAcceptable();
}

/** No media type of ours at all: answered a little differently by Kubernetes, before any object is looked for. */
export class NotAcceptable extends Error {
  override readonly message = `406: Not Acceptable\n\nAvailable representations: ${accepted.join(', ')}`;
}

function formatOf(type: string): Format | undefined {
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
  return { type: type.toLowerCase(), parameters, quality: Number.isNaN(quality) ? 0 : quality };
}
