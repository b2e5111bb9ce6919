import { join } from 'node:path';
import { startServer } from '@capstan/apiserver';
import { apiServerShape } from '../config/apiserver.ts';
import { readProcessConfig } from '../config/capstan.ts';
import { explain } from '../failure.ts';
import { announceReady } from '../supervise/description.ts';
import { type ApiServerFlags, settings } from './options.ts';
import { serverOptions } from './server-options.ts';
import { shutdownSignal } from './shutdown.ts';

/** In milliseconds; longer than a server takes to end. */
const storePatience = 20_000;

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
    // A "capstan up" that was killed may have left a server that is still ending.
    await using server = await startServer({ ...options, signal, ...(process.connected && { storePatience }) });
    const seconds = ((performance.now() - began) / 1000).toFixed(2);
    options.log(`ready at ${server.url} after ${seconds} s, kubeconfig ${server.kubeconfigPath}`);
    const { hostname, port } = new URL(server.localUrl);
    announceReady({
      url: server.url,
      kubeconfigPath: server.kubeconfigPath,
      ports: [{ name: 'https', host: hostname, port: port === '' ? 443 : Number(port) }],
      health: { url: `${server.localUrl}/readyz`, authorityFile: join(chosen.dataDirectory, 'pki', 'ca.crt') },
    });
    await server.closed;
  } catch (error) {
    throw explain(error, chosen);
  }
  if (process.connected) process.disconnect();
}
