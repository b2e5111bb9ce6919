import { type GPUNode, gpuNodeKind, type NodeUnit, nodeNamespace, nodeUnitKind, platformWorkspace } from '@capstan/api';
import { isNotFound } from '@capstan/client';
import { findCondition, ignoring } from '@capstan/controller';
import { Failure } from '../failure.ts';
import { type ConnectionFlags, workspaceClient } from '../workspaces/connection.ts';

const write = (line: string): void => void process.stdout.write(`${line}\n`);

export interface LostFlags extends ConnectionFlags {
  /** The name of the node once more: the owner has switched the machine off. */
  readonly confirm?: string;
  readonly off?: boolean;
}

/** Declares that nothing runs on a node any more, so that its units are started elsewhere. */
export async function loseNode(node: string, { confirm, off, ...flags }: LostFlags): Promise<void> {
  using client = workspaceClient(flags);
  const platform = client.cluster(platformWorkspace);
  const nodes = platform.resource<GPUNode>(gpuNodeKind);
  const found = await ignoring(nodes.get(node), isNotFound);
  if (found === undefined) throw new Failure('usage', `there is no node ${node}; "capstan node list" lists all.`);
  if (off === true) {
    await nodes.patch(node, { type: 'merge', patch: { spec: { lost: null } } });
    write(`The node ${node} is not lost.`);
    return;
  }
  if (findCondition(found.status?.conditions, 'Ready')?.status === 'True')
    throw new Failure('usage', `the agent of ${node} is heard of, so the node is not lost; "capstan node drain ${node}" empties it.`);
  if (confirm !== node) {
    const { items } = await platform.resource<NodeUnit>(nodeUnitKind).in(nodeNamespace(node)).list();
    const names = items.map(({ spec: { owner } }) => `${owner.namespace}/${owner.name} in ${owner.cluster}`);
    const units = names.length === 0 ? 'It has no units.' : `Its units will be started elsewhere: ${names.join(', ')}.`;
    throw new Failure(
      'usage',
      `switch the machine ${node} off first: programs that still run there would run twice, and could damage their data. ${units} ` +
        `Then use "capstan node lost ${node} --confirm ${node}".`,
    );
  }
  await nodes.patch(node, { type: 'merge', patch: { spec: { lost: true } } });
  write(
    `The node ${node} is lost. Its units are started elsewhere. If it comes back, use "capstan node lost ${node} --off"; if not, "capstan node remove ${node}".`,
  );
}
