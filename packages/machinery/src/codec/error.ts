import { badRequest, type StatusError } from '../status/status.ts';

/** A body that cannot be read as what it should be. The message is worded as kube-apiserver words it, without what stands around it. */
export class CodecError extends Error {
  override readonly name = 'CodecError';
}

export interface KindOfBody {
  readonly version: string;
  readonly kind: string;
}

/** The body does not even say what kind it is: it is not JSON, or no object. */
export function unrecognizedBody(expectedKind: string, error: Error, body: string): StatusError {
  return badRequest(`the object provided is unrecognized (must be of type ${expectedKind}): ${error.message} (${summarize(body)})`);
}

/** The body names a kind, and cannot be read as one. */
export function cannotBeHandled(actual: KindOfBody, expectedKind: string, message: string): StatusError {
  return badRequest(`${actual.kind} in version "${actual.version}" cannot be handled as a ${expectedKind}: ${message}`);
}

/** What the client is told when it asked for strict field validation; `problems` are those that `checkObject` found. */
export function strictDecodingMessage(problems: readonly string[]): string {
  return `strict decoding error: ${problems.join(', ')}`;
}

const summaryLength = 30;

/** The beginning of the body: as it is when it looks like JSON, in hexadecimal otherwise. */
function summarize(body: string): string {
  if (body === '') return '<empty>';
  const bytes = Buffer.from(body.slice(0, summaryLength + 1));
  const more = bytes.length > summaryLength;
  const shown = more ? bytes.subarray(0, summaryLength) : bytes;
  return shown.toString(body.startsWith('{') ? 'utf8' : 'hex') + (more ? ' ...' : '');
}
