/** Bytes that are not valid protobuf, with Go's message where it has one. */
export class DecodeError extends Error {
  override readonly name = 'DecodeError';
}

export const unexpectedEnd = (): DecodeError => new DecodeError('unexpected EOF');
