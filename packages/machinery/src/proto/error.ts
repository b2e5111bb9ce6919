/** Bytes that are not the protobuf they should be, in Go's words where it has some. */
export class DecodeError extends Error {
  override readonly name = 'DecodeError';
}

export const unexpectedEnd = (): DecodeError => new DecodeError('unexpected EOF');
