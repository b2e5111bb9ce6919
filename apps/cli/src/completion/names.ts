import { appInstanceKind, appKind, gpuNodeKind, gpuUnitKind, offeringKind, platformWorkspace } from '@capstan/api';
import { Client, defaultConnection, type Resource } from '@capstan/client';
import type { KubeObject } from '@capstan/machinery';
import { userAgent } from '../workspaces/connection.ts';
import { KubeconfigFile } from '../workspaces/kubeconfig-file.ts';
import type { NameKind } from './description.ts';

/** Somebody waits with a finger on a key, in milliseconds. */
const patience = 2_000;

/** Prints names for a shell. Silent if the server does not answer: there is nothing to complete then. */
export async function printNamesOf(kind: NameKind): Promise<void> {
  try {
    for (const name of await namesOf(kind)) process.stdout.write(`${name}\n`);
  } catch {
    // A message would end up in the command line.
  }
}

async function namesOf(kind: NameKind): Promise<(string | undefined)[]> {
  if (kind === 'contexts') return KubeconfigFile.read(undefined).contexts.map(({ name }) => name);
  const connection = defaultConnection();
  using client = new Client(connection, { userAgent, retry: { attempts: 1 }, timeouts: { connect: patience, response: patience } });
  const { items } = await resourceOf(kind, client).metadata().list({ limit: 200 });
  return items.map(({ metadata }) => metadata.name);
}

function resourceOf(kind: Exclude<NameKind, 'contexts'>, client: Client): Resource<KubeObject> {
  const { namespace } = client.connection;
  if (kind === 'units') return client.resource<KubeObject>(gpuUnitKind).in(namespace);
  if (kind === 'instances') return client.resource<KubeObject>(appInstanceKind).in(namespace);
  if (kind === 'offerings') return client.resource<KubeObject>(offeringKind);
  if (kind === 'apps') return client.resource<KubeObject>(appKind);
  return client.cluster(platformWorkspace).resource<KubeObject>(gpuNodeKind);
}
