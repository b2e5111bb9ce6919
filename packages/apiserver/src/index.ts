export { optionalPlugins } from './admission/plugins/index.ts';
export { parseAuditPolicy } from './audit/index.ts';
export { parseAuthenticationConfiguration } from './authn/index.ts';
export { type AuthorizerSetting, parseAuthorizationConfiguration } from './authz/configuration.ts';
export type { WebhookConnection } from './authz/webhook/client.ts';
export { optionalVersions } from './registry/catalog.ts';
export type { AuthorizationOptions } from './server/authorization.ts';
export type { EtcdOptions, RunningServer, ServerOptions } from './server/options.ts';
export { startServer } from './server/server.ts';
