import { setTimeout as sleep } from 'node:timers/promises';
import { type AgentArchive, type AgentPlatform, agentManifestPath, type GPUNode, gpuNodeKind, platformWorkspace } from '@capstan/api';
import type { Client, Resource } from '@capstan/client';
import { Failure } from '../failure.ts';
import { found } from '../nodes/answers.ts';
import { type ConnectionFlags, workspaceClient } from '../workspaces/connection.ts';
import { onceInstalled } from '../workspaces/once-served.ts';

export interface UpgradeFlags extends ConnectionFlags {
  readonly all?: boolean;
  readonly automatic?: boolean;
  readonly manual?: boolean;
  readonly wait?: boolean;
}

interface Requested {
  readonly node: string;
  readonly version: string;
  /** Of the GPUNode with the request. */
  readonly generation: number;
}

const write = (line: string): void => void process.stdout.write(`${line}\n`);
/** In milliseconds, between two looks at a node. */
const interval = 500;

/** Tells the agents of nodes which version to have. They upgrade themselves. */
export async function upgradeNodes(name: string | undefined, { all, automatic, manual, wait, ...flags }: UpgradeFlags): Promise<void> {
  if ((name === undefined) === (all !== true)) throw new Failure('usage', 'expected the name of a node, or --all.');
  using client = workspaceClient(flags);
  const nodes = client.cluster(platformWorkspace).resource<GPUNode>(gpuNodeKind);
  const chosen =
    name === undefined
      ? (await onceInstalled({ client, kind: gpuNodeKind }, () => nodes.list())).items
      : [await found(name, nodes.get(name))];
  const requested: Requested[] = [];
  const unmanaged: string[] = [];
  for (const node of chosen) {
    const { name: one = '' } = node.metadata;
    if (manual === true) {
      await nodes.patch(one, { type: 'merge', patch: { spec: { agent: { upgrades: 'Manual', version: null } } } });
      write(`The agent of ${one} stays at its version until "capstan node upgrade ${one}".`);
      continue;
    }
    // The control plane may have to build the archive first, which takes a while.
    if (node.status?.machine?.upgradable === false) {
      unmanaged.push(one);
      continue;
    }
    const version = await offered(client, node);
    const requestedAt = timeOfRequest(node, Date.now());
    const agent = automatic === true ? { upgrades: 'Automatic', version: null, requestedAt } : { upgrades: 'Manual', version, requestedAt };
    const { metadata } = await nodes.patch(one, { type: 'merge', patch: { spec: { agent } } });
    const present = node.status?.machine?.agentVersion;
    write(
      present === version
        ? `The agent of ${one} is ${version} already.`
        : `The agent of ${one} is to change from ${present ?? 'unknown'} to ${version}.`,
    );
    requested.push({ node: one, version, generation: metadata.generation ?? 0 });
  }
  if (wait === true) await Promise.all(requested.map((one) => settled(nodes, one)));
  if (unmanaged.length > 0)
    throw new Failure(
      'unexpected',
      `the agent of ${unmanaged.join(', ')} was not installed with the command of "capstan node enroll" (NotManaged). Upgrade it the way it was installed.`,
    );
}

/** Later than that of the request before, so that each is a new one. */
export function timeOfRequest({ spec }: GPUNode, now: number): string {
  const before = Date.parse(spec?.agent?.requestedAt ?? '');
  const time = new Date(Math.max(now, Number.isNaN(before) ? 0 : before + 1_000));
  return `${time.toISOString().slice(0, 19)}Z`;
}

/** The version that the control plane has for the architecture of a node. */
async function offered(client: Client, { status }: GPUNode): Promise<string> {
  const platform: AgentPlatform = status?.machine?.architecture === 'arm64' ? 'linux-arm64' : 'linux-x64';
  const { text } = await client.under('/').raw({ method: 'GET', path: agentManifestPath(platform) });
  return (JSON.parse(text) as AgentArchive).version;
}

/** Rejects if the agent gives up. */
async function settled(nodes: Resource<GPUNode>, { node, version, generation }: Requested): Promise<void> {
  for (;;) {
    const { status } = await nodes.get(node);
    const { status: state, message = '', observedGeneration = 0 } = status?.conditions?.find(({ type }) => type === 'Upgraded') ?? {};
    const isAnswer = observedGeneration >= generation;
    if (isAnswer && state === 'True' && status?.machine?.agentVersion === version) return write(`The agent of ${node} is ${version}.`);
    if (isAnswer && state === 'False') throw new Failure('unexpected', `the agent of ${node} was not upgraded: ${message}.`);
    await sleep(interval);
  }
}
