export { type LogLine, parseLine } from './container-log/line.ts';
export { type LogOptions, logOptions } from './container-log/options.ts';
export { type ContainerLog, type LogSource, readLog } from './container-log/read-log.ts';
export { TimedLog } from './container-log/timed-log.ts';
export { type CommandDialOptions, dialCommand } from './dial/command.ts';
export { type DialledPort, dialPort } from './dial/port.ts';
export { StreamLost, type StreamServer, UpgradeRefused } from './dial/upgrade.ts';
export { type Heartbeat, heartbeatsPath } from './heartbeats/messages.ts';
export { type AnswerHeartbeat, receiveHeartbeats } from './heartbeats/receiver.ts';
export { HeartbeatSender } from './heartbeats/sender.ts';
export type { NodeConnection, NodeRequest, NodeResponse } from './node-connection.ts';
export { joinConnection } from './port-forward/join.ts';
export {
  type ForwardedConnection,
  PortForwardServer,
  portForwardProtocol,
  tunnelledPortForwardProtocol,
} from './port-forward/pairs.ts';
export { type ChannelMessage, type CommandChannels, type CommandOptions, channel, longestMessage } from './remote-command/channels.ts';
export { FramedChannels } from './remote-command/framed.ts';
export { joinChannels } from './remote-command/join.ts';
export { kubeletCommandProtocol, SpdyClientChannels } from './remote-command/spdy-client.ts';
export { SpdyServerChannels, spdyCommandProtocols } from './remote-command/spdy-server.ts';
export { type CommandProtocol, chooseCommandProtocol, WebSocketChannels } from './remote-command/web-socket.ts';
export { SpdyConnection, type SpdyOptions } from './spdy/connection.ts';
export { SpdyStream } from './spdy/stream.ts';
export { type AnsweringOptions, type AnsweringTunnel, answerTunnel, type TunnelHandler, type TunnelRequest } from './tunnel/answering.ts';
export { type DialOptions, dialTunnel } from './tunnel/dial.ts';
export { TunnelError, type TunnelFault } from './tunnel/error.ts';
export { type KeeperOptions, TunnelKeeper } from './tunnel/keeper.ts';
export { defaultLimits, type TunnelLimits, tunnelPath, tunnelProtocol, upgradedHeader, upgradeHeader } from './tunnel/protocol.ts';
export { openTunnel, type Tunnel } from './tunnel/requesting.ts';
export { bytesPerTurn, mostWaiting, TurnTaker, takeTurns } from './turns.ts';
export { acceptWebSocket, isHandshake, type UpgradeRequest } from './web-socket/accept.ts';
export { WebSocketByteStream } from './web-socket/byte-stream.ts';
