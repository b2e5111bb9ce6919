import { startServer } from '@capstan/apiserver';
import { apiServerShape } from '../config/apiserver.ts';
import { readProcessConfig } from '../config/capstan.ts';
import { explain } from '../failure.ts';
import { type ApiServerFlags, settings } from './options.ts';
import { serverOptions } from './server-options.ts';
import { shutdownSignal } from './shutdown.ts';

/** Runs the API server in this process until a signal stops it. */
export async function apiserver(flags: ApiServerFlags): Promise<void> {
  const chosen = settings(
    flags,
    flags.config === undefined ? { settings: {} } : readProcessConfig(flags.config, 'apiserver', apiServerShape),
  );
  const signal = shutdownSignal();
  const began = performance.now();
  try {
    const options = serverOptions(chosen);
    await using server = await startServer({ ...options, signal });
    const seconds = ((performance.now() - began) / 1000).toFixed(2);
    options.log(`ready at ${server.url} after ${seconds} s, kubeconfig ${server.kubeconfigPath}`);
    process.send?.({ type: 'ready', url: server.url, kubeconfigPath: server.kubeconfigPath });
    await server.closed;
  } catch (error) {
    throw explain(error, chosen);
  }
  if (process.connected) process.disconnect();
}
