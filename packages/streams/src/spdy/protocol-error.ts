/** The peer broke the rules of SPDY, or exceeded a limit. The connection ends. */
export class SpdyProtocolError extends Error {
  override readonly name = 'SpdyProtocolError';
}

/** The peer, or the end of the connection, reset a stream. */
export class StreamReset extends Error {
  override readonly name = 'StreamReset';
  constructor(status: number) {
    super(`the stream was reset with status ${status}`);
  }
}
