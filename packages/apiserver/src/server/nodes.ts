import { type ClusterId, platformWorkspace } from '@capstan/api';
import type { Pki } from '@capstan/pki';
import type { WatchCache } from '../cache/watch-cache.ts';
import type { Serving } from '../handlers/serving.ts';
import { AgentConnections } from '../node-agents/connections.ts';
import { EnrollmentTokens } from '../node-agents/enrollment-tokens.ts';
import { NodeIdentities } from '../node-agents/identities.ts';
import { NodeSigner } from '../node-agents/issuing.ts';
import { NodeMembership } from '../node-agents/membership.ts';
import { NodeObjects } from '../node-agents/objects.ts';
import type { Tree } from '../workspaces/tree.ts';
import { audiences } from './audiences.ts';
import type { Lifetime, ServerOptions } from './options.ts';

/** Who the nodes are. */
export interface Nodes {
  /** The workspace of the fleet; undefined until it exists. */
  readonly platform: () => ClusterId | undefined;
  readonly identities: NodeIdentities;
  readonly connections: AgentConnections;
  readonly tokens: EnrollmentTokens;
}

export function nodesOf({ cache, tree }: { readonly cache: WatchCache; readonly tree: Tree }, { resources, now }: Lifetime): Nodes {
  const platform = (): ClusterId | undefined => tree.resolve(platformWorkspace);
  const identities = new NodeIdentities({ cache, platform });
  return {
    platform,
    identities,
    connections: resources.use(new AgentConnections({ identities, now: () => now().getTime() })),
    tokens: new EnrollmentTokens({ cache, platform, now, audiences }),
  };
}

const day = 24 * 60 * 60 * 1000;

/** How machines become nodes. */
export function membershipOf(
  { platform, identities, tokens }: Nodes,
  { serving, pki, now }: { readonly serving: Serving; readonly pki: Pki; readonly now: () => Date },
  { nodeCertificateLifetime = day, log }: ServerOptions,
): NodeMembership {
  return new NodeMembership({
    cache: serving.cache,
    identities,
    tokens,
    objects: new NodeObjects(serving, { platform, now }),
    signer: new NodeSigner(pki.signer),
    authority: pki.authority.certificate,
    lifetime: nodeCertificateLifetime,
    now,
    log,
  });
}
