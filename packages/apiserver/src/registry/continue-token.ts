import { status } from '@capstan/machinery';

/** The position at which a paginated list continues. */
export interface ContinueToken {
  /** The revision of the first page; -1 to continue with the current state. */
  readonly revision: number;
  /** The key, relative to the list's prefix, after which the next page starts. */
  readonly after: string;
}

/** The same form as in Kubernetes: opaque to clients, but some tools look inside. */
export function encodeToken({ revision, after }: ContinueToken): string {
  return Buffer.from(JSON.stringify({ v: 'meta.k8s.io/v1', rv: revision, start: `${after}\0` })).toString('base64url');
}

export function decodeToken(text: string): ContinueToken {
  const broken = brokenAt(text);
  if (broken !== undefined) throw invalid(`continue key is not valid: illegal base64 data at input byte ${broken}`);
  const bytes = Buffer.from(text, 'base64url');
  let token: unknown;
  try {
    token = JSON.parse(bytes.toString());
  } catch {
    throw invalid(`continue key is not valid: ${firstProblem(bytes)}`);
  }
  if (typeof token !== 'object' || token === null)
    throw invalid('continue key is not valid: json: cannot unmarshal into Go value of type storage.continueToken');
  const { v, rv, start } = token as Record<string, unknown>;
  if (v !== 'meta.k8s.io/v1')
    throw invalid(`continue key is not valid: server does not recognize this encoded version ${JSON.stringify(v ?? '')}`);
  if (typeof rv !== 'number' || rv === 0)
    throw invalid('continue key is not valid: incorrect encoded start resourceVersion (version meta.k8s.io/v1)');
  if (typeof start !== 'string' || start === '')
    throw invalid('continue key is not valid: encoded start key empty (version meta.k8s.io/v1)');
  if (start.includes('..') || start.startsWith('/')) throw invalid('continue key is not valid: encoded start key is not within the list');
  return { revision: rv, after: start.endsWith('\0') ? start.slice(0, -1) : start };
}

/** The position of the first byte that is not base64, or of the first surplus one; undefined if the text is valid. */
function brokenAt(text: string): number | undefined {
  const strange = text.search(/[^\w-]/);
  if (strange >= 0) return strange;
  return text.length % 4 === 1 ? text.length - 1 : undefined;
}

function invalid(why: string): Error {
  return status.badRequest(`invalid continue token: ${why}`);
}

function firstProblem(bytes: Buffer): string {
  const first = bytes[0];
  if (first === undefined) return 'unexpected end of JSON input';
  if (first === 0x7b) return 'unexpected end of JSON input';
  const shown = first < 0x20 || first > 0x7e ? `\\u${first.toString(16).padStart(4, '0')}` : String.fromCharCode(first);
  return `invalid character '${shown}' looking for beginning of value`;
}
