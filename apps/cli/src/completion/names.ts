import { type GPUNode, type GPUUnit, gpuNodeKind, gpuUnitKind, type Offering, offeringKind, platformWorkspace } from '@capstan/api';
import { Client, defaultConnection } from '@capstan/client';
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
  const resource =
    kind === 'units'
      ? client.resource<GPUUnit>(gpuUnitKind).in(connection.namespace)
      : kind === 'offerings'
        ? client.resource<Offering>(offeringKind)
        : client.cluster(platformWorkspace).resource<GPUNode>(gpuNodeKind);
  const { items } = await resource.metadata().list({ limit: 200 });
  return items.map(({ metadata }) => metadata.name);
}
