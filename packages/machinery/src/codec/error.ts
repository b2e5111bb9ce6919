import { badRequest, type StatusError } from '../status/status.ts';

/** A body that cannot be decoded. The message is kube-apiserver's, without its prefix. */
export class CodecError extends Error {
  override readonly name = 'CodecError';
}

export interface KindOfBody {
  readonly version: string;
  readonly kind: string;
}

/** The kind of the body cannot be determined: it is not JSON, or not an object. */
export function unrecognizedBody(expectedKind: string, error: Error, body: string): StatusError {
  return badRequest(`the object provided is unrecognized (must be of type ${expectedKind}): ${error.message} (${summarize(body)})`);
}

/** The body names a kind but cannot be decoded as one. */
export function cannotBeHandled(actual: KindOfBody, expectedKind: string, message: string): StatusError {
  return badRequest(`${actual.kind} in version "${actual.version}" cannot be handled as a ${expectedKind}: ${message}`);
}

/** The message for strict field validation; `problems` come from `checkObject`. */
export function strictDecodingMessage(problems: readonly string[]): string {
  return `strict decoding error: ${problems.join(', ')}`;
}

const summaryLength = 30;

/** The start of the body: verbatim if it looks like JSON, otherwise in hexadecimal. */
function summarize(body: string): string {
  if (body === '') return '<empty>';
  const bytes = Buffer.from(body.slice(0, summaryLength + 1));
  const more = bytes.length > summaryLength;
  const shown = more ? bytes.subarray(0, summaryLength) : bytes;
  return shown.toString(body.startsWith('{') ? 'utf8' : 'hex') + (more ? ' ...' : '');
}
