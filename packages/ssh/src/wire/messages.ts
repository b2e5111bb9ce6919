/** Message numbers of RFC 4253, 4252, 4254 and 5656. */
export const message = {
  disconnect: 1,
  ignore: 2,
  unimplemented: 3,
  debug: 4,
  serviceRequest: 5,
  serviceAccept: 6,
  extensionInfo: 7,
  keyExchangeInit: 20,
  newKeys: 21,
  ecdhInit: 30,
  ecdhReply: 31,
  authenticationRequest: 50,
  authenticationFailure: 51,
  authenticationSuccess: 52,
  globalRequest: 80,
  requestSuccess: 81,
  requestFailure: 82,
  channelOpen: 90,
  channelOpenConfirmation: 91,
  channelOpenFailure: 92,
  channelWindowAdjust: 93,
  channelData: 94,
  channelExtendedData: 95,
  channelEof: 96,
  channelClose: 97,
  channelRequest: 98,
  channelSuccess: 99,
  channelFailure: 100,
} as const;

/** Messages from this number on belong to the connection, which begins after authentication. */
export const firstConnectionMessage = 80;
