import { networkInterfaces } from 'node:os';
import type { Serving } from '../handlers/serving.ts';
import type { Listener } from '../http/listener.ts';
import { clientAuthorities, keepFresh, type Pki } from '../pki/index.ts';
import { publishShard } from '../workspaces/root/bootstrap.ts';
import { advertisedAddress } from './advertised.ts';
import { publishAddress, systemContext } from './bootstrap.ts';
import { writeKubeconfigs } from './kubeconfigs.ts';
import type { ServerOptions } from './options.ts';
import { keepStanding } from './standing.ts';

export interface AnnounceOptions {
  readonly options: ServerOptions;
  readonly pki: Pki;
  readonly listener: Listener;
  readonly now: () => Date;
  readonly signal: AbortSignal;
}

/** Tells where the server is, in objects and in kubeconfigs, and renews until the signal what clients know it by. */
export async function announce(
  serving: Serving,
  { options, pki, listener, now, signal }: AnnounceOptions,
): Promise<{ url: string; kubeconfigPath: string }> {
  const { host, dataDirectory, clientAuthority, log } = options;
  const url = `https://${host.includes(':') ? `[${host}]` : host}:${listener.port}`;
  const advertised = advertisedAddress(host, networkInterfaces());
  const address =
    advertised === undefined ? undefined : { address: advertised, port: listener.port, clientAuthority: pki.authority.certificate };
  if (address !== undefined) await publishAddress(serving, now, address);
  keepStanding(serving, { address, now, onError: (error) => log(`what was deleted could not be made again: ${String(error)}`) });
  await publishShard(serving, systemContext(serving, now), url);
  const kubeconfigPath = await writeKubeconfigs(dataDirectory, pki, url);
  keepFresh(pki, {
    signal,
    onRenewed: (renewed) => {
      listener.replaceCertificate(renewed.serving.certificate, renewed.serving.key, clientAuthorities(renewed, clientAuthority));
      void writeKubeconfigs(dataDirectory, renewed, url);
    },
    onError: (error) => log(`certificates could not be renewed: ${String(error)}`),
  });
  return { url, kubeconfigPath };
}
