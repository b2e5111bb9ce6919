import { readFileSync } from 'node:fs';
import { request } from 'node:https';
import { load } from 'js-yaml';

interface Kubeconfig {
  readonly clusters: readonly { readonly cluster: { readonly server: string; readonly 'certificate-authority-data'?: string } }[];
  readonly users: readonly { readonly user: { readonly 'client-certificate-data': string; readonly 'client-key-data': string } }[];
}

/** Returns a function that GETs a path as JSON from the kubeconfig's first cluster, as its first user. */
export function apiClient(kubeconfigFile: string): (path: string) => Promise<unknown> {
  const config = load(readFileSync(kubeconfigFile, 'utf8')) as Kubeconfig;
  const cluster = config.clusters[0]!.cluster;
  const user = config.users[0]!.user;
  const decode = (data: string | undefined): Buffer | undefined => (data === undefined ? undefined : Buffer.from(data, 'base64'));
  const ca = decode(cluster['certificate-authority-data']);
  return (path) =>
    new Promise((resolve, reject) => {
      const options = {
        cert: decode(user['client-certificate-data']),
        key: decode(user['client-key-data']),
        headers: { accept: 'application/json' },
        ...(ca === undefined ? { rejectUnauthorized: false } : { ca }),
      };
      const call = request(new URL(path, cluster.server), options, (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('end', () => {
          const text = Buffer.concat(chunks).toString('utf8');
          if (response.statusCode === 200) resolve(JSON.parse(text));
          else reject(new Error(`GET ${path} returned ${response.statusCode}, expected 200: ${text.slice(0, 200)}`));
        });
      });
      call.on('error', reject);
      call.end();
    });
}
