/** The part of the package that runs in browsers: it compiles without Node's types. */
export { type FetchOptions, FetchTransport } from './fetch/fetch-transport.ts';
export * from './members/members.ts';
export { type DiscoveredResource, discover, resourceForKind } from './rest/discovery.ts';
export * from './rest/error.ts';
export { followLines, type LinesCall } from './rest/lines.ts';
export type * from './rest/options.ts';
export { type Patch, Resource, type ResourceType, type Target } from './rest/resource.ts';
export { type Address, type Answer, type Call, type ClientOptions, RestClient } from './rest/rest-client.ts';
export type { Repeatable, RetryOptions } from './rest/retry.ts';
export type { Outgoing, Received, Timeouts, Transport } from './rest/transport.ts';
