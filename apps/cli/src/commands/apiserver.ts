import { readFileSync } from 'node:fs';
import { type EtcdOptions, type ServerOptions, startServer } from '@capstan/apiserver';
import { type ApiServerConfig, readApiServerConfig } from '../config/apiserver.ts';
import { explain, Failure } from '../failure.ts';
import { type ApiServerFlags, type ApiServerSettings, settings } from './options.ts';
import { shutdownSignal } from './shutdown.ts';

/** Runs the API server in this process until it is told to stop. */
export async function apiserver(flags: ApiServerFlags): Promise<void> {
  const chosen = settings(flags, flags.config === undefined ? {} : readApiServerConfig(flags.config));
  const signal = shutdownSignal();
  const began = performance.now();
  try {
    await using server = await startServer({ ...serverOptions(chosen), signal });
    const seconds = ((performance.now() - began) / 1000).toFixed(2);
    process.stdout.write(`ready at ${server.url} after ${seconds} s, kubeconfig ${server.kubeconfigPath}\n`);
    process.send?.({ type: 'ready', url: server.url, kubeconfigPath: server.kubeconfigPath });
    await server.closed;
  } catch (error) {
    throw explain(error, chosen);
  }
  if (process.connected) process.disconnect();
}

function serverOptions({ dataDirectory, host, port, etcdEndpoints, file }: ApiServerSettings): ServerOptions {
  const etcd = etcdEndpoints === undefined ? {} : { etcd: { endpoints: etcdEndpoints, tls: etcdFiles(file.etcd ?? {}) } };
  return { dataDirectory, host, port, ...etcd, log: (line) => process.stdout.write(`${line}\n`) };
}

function etcdFiles({ authorityFile, certificateFile, keyFile }: NonNullable<ApiServerConfig['etcd']>): NonNullable<EtcdOptions['tls']> {
  return {
    ...(authorityFile === undefined ? {} : { ca: readPem(authorityFile) }),
    ...(certificateFile === undefined ? {} : { cert: readPem(certificateFile) }),
    ...(keyFile === undefined ? {} : { key: readPem(keyFile) }),
  };
}

function readPem(file: string): string {
  try {
    const text = readFileSync(file, 'utf8');
    if (text.includes('-----BEGIN ')) return text;
    throw new Failure('badCertificate', `${file}: expected a PEM file that has a line beginning "-----BEGIN".`);
  } catch (error) {
    if (error instanceof Failure) throw error;
    throw new Failure('badCertificate', `${file}: cannot be read (${String(error)}).`, error);
  }
}
