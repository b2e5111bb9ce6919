/** The reason codes of SSH_MSG_DISCONNECT that we send (RFC 4253, section 11.1). */
export const disconnectReasons = {
  protocolError: 2,
  keyExchangeFailed: 3,
  macError: 5,
  serviceNotAvailable: 7,
  versionNotSupported: 8,
  byApplication: 11,
} as const;

export type DisconnectReason = keyof typeof disconnectReasons;

/** The client broke the protocol, or shares no algorithm with us. The session ends, and the client is told the message. */
export class SshError extends Error {
  override readonly name = 'SshError';
  readonly reason: DisconnectReason;

  constructor(reason: DisconnectReason, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.reason = reason;
  }
}

export const protocolError = (message: string): SshError => new SshError('protocolError', message);
