export { anonymousConnection } from './anonymous.ts';
export { BodyFault, type ByteCount, readBody } from './body.ts';
export { accountWorkspace, claimsOf, expiryOf } from './claims.ts';
export { type ConnectionLimits, limitConnections } from './connections.ts';
export { UpstreamHealth } from './health.ts';
export { listen, stopListening } from './listener.ts';
export { isLoopback } from './loopback.ts';
export { Upstream, type UpstreamCall } from './upstream.ts';
export { writePatiently } from './write-patiently.ts';
