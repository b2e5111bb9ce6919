import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import type { KeyPair } from '../certificates.ts';
import { networkConfig } from '../kubelets/settings.ts';
import { ask } from './api.ts';
import type { Layout } from './layout.ts';
import { writeWhole } from './whole-file.ts';

export interface NodeReader {
  readonly url: string;
  readonly authority: string;
  readonly identity: KeyPair;
}

interface NodeList {
  readonly items: readonly {
    readonly metadata: { readonly name: string };
    readonly spec: { readonly podCIDR?: string };
    readonly status: { readonly addresses?: readonly { readonly type: string; readonly address: string }[] };
  }[];
}

const interval = 1_000;
export const cniFile = '/etc/cni/net.d/10-bridge.conflist';

/** Gives the pods of this node a bridge once the cluster has given it addresses, and routes those of the others to their nodes. */
export async function keepRoutes(layout: Layout, reader: NodeReader): Promise<void> {
  const { hostname, port } = new URL(reader.url);
  const look = async (): Promise<void> => {
    const { certificate, key } = reader.identity;
    const { status, body } = await ask({ host: hostname, port, path: '/api/v1/nodes', ca: reader.authority, cert: certificate, key });
    if (status !== 200) throw new Error(`the API answers ${status}`);
    for (const { metadata, spec, status: found } of (JSON.parse(body) as NodeList).items) {
      const address = found.addresses?.find(({ type }) => type === 'InternalIP')?.address;
      if (spec.podCIDR === undefined || address === undefined) continue;
      if (metadata.name === layout.node) writeNetwork(spec.podCIDR);
      else execFileSync('ip', ['route', 'replace', spec.podCIDR, 'via', address]);
    }
  };
  const again = (): void => {
    look()
      .catch(() => undefined)
      .finally(() => setTimeout(again, interval));
  };
  again();
}

function writeNetwork(podNetwork: string): void {
  if (existsSync(cniFile)) return;
  const text = networkConfig({ name: '', address: '', cgroup: '', podPrefix: podNetwork.replace(/\.0\/\d+$/, '') });
  writeWhole(cniFile, text.replace('"bridge":"pods"', '"bridge":"cni0"'));
}
