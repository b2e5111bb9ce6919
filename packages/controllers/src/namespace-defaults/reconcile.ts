import { firstNamespaces, rootCluster } from '@capstan/api';
import type { KubeObject } from '@capstan/machinery';

export const accountName = 'default';
export const authorityName = 'kube-root-ca.crt';
const descriptionAnnotation = 'kubernetes.io/description';
const description = 'Holds the certificate authority with which clients inside the cluster verify the API server.';

/** The actions available to the steps, within one namespace. */
export interface DefaultsActions {
  readonly readAccount: () => Promise<KubeObject | undefined>;
  readonly readAuthority: () => Promise<KubeObject | undefined>;
  readonly create: (object: KubeObject) => Promise<unknown>;
  readonly update: (object: KubeObject) => Promise<unknown>;
  /** PEM of the authority that signs for the API server; undefined if it is not known. */
  readonly authority: string | undefined;
}

/** In milliseconds: how late the copies of objects may be that came with a workspace. */
export const arrival = 2_000;

/**
 * Whether the objects of the namespace came with it, so that those missing from the copies are only late: other watches report them. Asking the server
 * would cost a request for every new workspace.
 */
export function isArriving({ metadata }: KubeObject, cluster: string | undefined, now: number): boolean {
  if (cluster === undefined || cluster === rootCluster || !firstNamespaces.includes(metadata.name ?? '')) return false;
  return Math.abs(now - Date.parse(metadata.creationTimestamp ?? '')) < arrival;
}

type Step = (namespace: string, actions: DefaultsActions) => Promise<void>;

const steps: readonly Step[] = [keepAccount, keepAuthority];

/** Gives a namespace the objects that clients expect in each: the service account that pods run as, and the authority that they trust. */
export async function reconcileDefaults(namespace: KubeObject | undefined, actions: DefaultsActions): Promise<void> {
  if (namespace === undefined || namespace.metadata.deletionTimestamp !== undefined) return;
  for (const step of steps) await step(namespace.metadata.name ?? '', actions);
}

async function keepAccount(namespace: string, { readAccount, create }: DefaultsActions): Promise<void> {
  if ((await readAccount()) !== undefined) return;
  await create({ apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: accountName, namespace } });
}

async function keepAuthority(namespace: string, { readAuthority, create, update, authority }: DefaultsActions): Promise<void> {
  if (authority === undefined) return;
  const data = { 'ca.crt': authority };
  const found = await readAuthority();
  if (found === undefined) {
    const metadata = { name: authorityName, namespace, annotations: { [descriptionAnnotation]: description } };
    await create({ apiVersion: 'v1', kind: 'ConfigMap', metadata, data });
    return;
  }
  const described = (found.metadata.annotations?.[descriptionAnnotation] ?? '') !== '';
  if (described && isOnly(found['data'], data)) return;
  const annotations = { ...found.metadata.annotations, ...(!described && { [descriptionAnnotation]: description }) };
  await update({ ...found, metadata: { ...found.metadata, annotations }, data });
}

/** Whether the data is exactly this: nobody may add an authority of their own. */
function isOnly(found: unknown, wanted: Readonly<Record<string, string>>): boolean {
  const entries = Object.entries((found ?? {}) as Record<string, string>);
  return entries.length === Object.keys(wanted).length && entries.every(([key, value]) => wanted[key] === value);
}
