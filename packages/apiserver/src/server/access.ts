import { rootCluster } from '@capstan/api';
import { bootstrapTokens } from '../authn/bootstrap-tokens.ts';
import { oidc } from '../authn/oidc.ts';
import { staticTokens } from '../authn/static-tokens.ts';
import { scopesExtra } from '../authz/effective-users.ts';
import { addressesOf } from '../presence/addresses.ts';
import { thisMachine } from '../presence/machine.ts';
import { WorkspaceAuthentication } from '../workspaces/authentication.ts';
import { audiences } from './audiences.ts';
import { type Authentication, authentication } from './authentication.ts';
import type { Kinds } from './kinds.ts';
import { type Nodes, nodesOf } from './nodes.ts';
import type { Lifetime, ServerOptions } from './options.ts';
import { type Rights, rights } from './rights.ts';
import type { Storage } from './storage.ts';

/** Authentication and authorization. */
export interface Access extends Rights {
  readonly identities: Authentication;
  readonly nodes: Nodes;
  /** Issuers of workspaces. */
  readonly workspaceAuthentication: WorkspaceAuthentication;
}

export function accessOf(
  { storage: { pki, cache, quarantine }, kinds: { catalog, spaces, outbound } }: { readonly storage: Storage; readonly kinds: Kinds },
  options: ServerOptions,
  lifetime: Lifetime,
): Access {
  const { resources, now } = lifetime;
  const nodes = nodesOf({ pki, cache, tree: spaces.tree }, options, lifetime);
  const identities = authentication(pki, {
    objects: cache,
    now,
    url: addressesOf(options, thisMachine()).url,
    clientAuthority: options.clientAuthority,
    nodes,
    more: [
      ...(options.tokens === undefined ? [] : [staticTokens(options.tokens, audiences)]),
      // Kubelets join the root workspace, so their tokens are worth nothing elsewhere.
      bootstrapTokens({ objects: cache, now: () => now().getTime(), audiences, extra: { [scopesExtra]: [`cluster:${rootCluster}`] } }),
      ...(options.oidc ?? []).map((one) => oidc({ ...one, audiences })),
    ],
  });
  return {
    ...rights(
      { cache, catalog, catalogs: spaces.catalogs, builtIn: spaces.builtIn, organizations: spaces.organizations, platform: nodes.platform },
      options.authorization,
      {
        resources,
        log: options.log,
      },
    ),
    identities,
    nodes,
    workspaceAuthentication: new WorkspaceAuthentication({ objects: cache, tree: spaces.tree, audiences, outbound, quarantine }),
  };
}
