export type { NodeConnection, NodeRequest, NodeResponse } from './node-connection.ts';
export { type AnsweringOptions, type AnsweringTunnel, answerTunnel, type TunnelHandler, type TunnelRequest } from './tunnel/answering.ts';
export { type DialOptions, dialTunnel } from './tunnel/dial.ts';
export { TunnelError, type TunnelFault } from './tunnel/error.ts';
export { type KeeperOptions, TunnelKeeper } from './tunnel/keeper.ts';
export { defaultLimits, type TunnelLimits, tunnelPath, tunnelProtocol } from './tunnel/protocol.ts';
export { openTunnel, type Tunnel } from './tunnel/requesting.ts';
