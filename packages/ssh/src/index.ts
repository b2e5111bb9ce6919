export { type ConnectionHandlers, ForwardProhibited, type ForwardTarget } from './connection/connection.ts';
export type { SessionCommand, SessionProgram, SessionStart, TerminalSize } from './connection/session.ts';
export { type DisconnectReason, SshError } from './error.ts';
export { HostKey } from './host-key.ts';
export { type SshServerOptions, serveSsh } from './server.ts';
