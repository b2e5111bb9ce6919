export { optionalPlugins } from './admission/plugins/index.ts';
export { parseAuditPolicy } from './audit/index.ts';
export { parseAuthenticationConfiguration } from './authn/index.ts';
export { optionalVersions } from './registry/catalog.ts';
export type { EtcdOptions, RunningServer, ServerOptions } from './server/options.ts';
export { startServer } from './server/server.ts';
