export { type Credential, type Credentials, combinedCredentials, fixedCredentials } from './credentials/credentials.ts';
export { type ExecConfig, type ExecOptions, execCredentials } from './credentials/exec.ts';
export { type OidcConfig, type OidcOptions, oidcCredentials } from './credentials/oidc.ts';
export { type TokenFileOptions, tokenFileCredentials } from './credentials/token-file.ts';
export { Client } from './http/client.ts';
export { type DialOptions, dialOptions, type TlsOptions } from './http/dial-options.ts';
export { HttpTransport } from './http/http-transport.ts';
export type { Change, IndexFunction } from './informer/cache.ts';
export { dropManagedFields, type FactoryOptions, InformerFactory, type InformerSelection } from './informer/factory.ts';
export { type ChangeHandler, Informer, type InformerOptions } from './informer/informer.ts';
export { clusterOf, formatKey, keyText, type ObjectKey, objectKey, parseKey } from './informer/key.ts';
export { Reflector, type ReflectorOptions, type Sink } from './informer/reflector.ts';
export { SharedTexts } from './informer/shared-texts.ts';
export { type Connection, connectionOf, type Impersonation } from './kubeconfig/connection.ts';
export { defaultConnection, type InClusterOptions, inClusterConnection } from './kubeconfig/in-cluster.ts';
export {
  type Kubeconfig,
  KubeconfigError,
  kubeconfigPaths,
  type LoadOptions,
  loadKubeconfig,
  mergeKubeconfigs,
  parseKubeconfig,
} from './kubeconfig/kubeconfig.ts';
export * from './members/members.ts';
export { LineSplitter } from './rest/body.ts';
export { type Deferred, deferred } from './rest/deferred.ts';
export { type DiscoveredResource, discover, resourceForKind } from './rest/discovery.ts';
export {
  ApiError,
  ConnectionError,
  type ConnectionFault,
  isAlreadyExists,
  isConflict,
  isExpired,
  isForbidden,
  isInvalid,
  isNotFound,
  isTerminating,
  isTooLargeResourceVersion,
} from './rest/error.ts';
export { followLines, type LinesCall } from './rest/lines.ts';
export type { ObservedRequest, RequestObserver } from './rest/observer.ts';
export type * from './rest/options.ts';
export { type Patch, Resource, type ResourceType, type Target } from './rest/resource.ts';
export { type Address, type Answer, type Call, type ClientOptions, RestClient } from './rest/rest-client.ts';
export type { Repeatable, RetryOptions } from './rest/retry.ts';
export type { Outgoing, Received, Timeouts, Transport } from './rest/transport.ts';
export { noTracer, type Span, type SpanAttributes, type Tracer, traced } from './tracing/tracer.ts';
