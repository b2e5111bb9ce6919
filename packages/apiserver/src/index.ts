export type { EtcdOptions, RunningServer, ServerOptions } from './server/options.ts';
export { startServer } from './server/server.ts';
