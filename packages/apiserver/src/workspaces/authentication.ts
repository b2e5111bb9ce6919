import {
  type ClusterId,
  groupResource,
  rootCluster,
  typeAnnotation,
  type User,
  type WorkspaceAuthenticationConfiguration,
  workspaceAuthenticationKind,
  workspaceTypeKind,
} from '@capstan/api';
import type { ObjectReader } from '@capstan/kinds';
import type { KubeObject } from '@capstan/machinery';
import { parseIssuers } from '../authn/authentication-configuration.ts';
import { type BearerTokens, bearerToken, sharedAudiences, type TokenAuthenticator } from '../authn/bearer.ts';
import { oidc } from '../authn/oidc.ts';
import { clusterExtra } from '../authn/service-account.ts';
import { type Credentials, Unauthenticated } from '../authn/user.ts';
import { scopesExtra } from '../authz/effective-users.ts';
import type { Outbound } from '../http/outbound.ts';
import { type Evaluated, printHeld, type Quarantine } from '../registry/quarantine.ts';
import { logicalClusterOf, type Tree } from './tree.ts';

const workspaceTypes = groupResource(workspaceTypeKind);
const configurations = groupResource(workspaceAuthenticationKind);

interface Options {
  readonly objects: ObjectReader;
  readonly tree: Tree;
  readonly audiences: readonly string[];
  /** Blocks some addresses for issuers configured by workspaces other than root. */
  readonly outbound?: Outbound | undefined;
  readonly quarantine: Quarantine;
}

/**
 * Authenticates users with the issuers that a workspace's type configures. Such users exist only in that workspace, and never belong to the
 * platform.
 */
export class WorkspaceAuthentication {
  readonly #options: Options;
  /** An error means that the configuration is invalid. */
  readonly #made = new WeakMap<KubeObject, readonly TokenAuthenticator[] | Error>();

  constructor(options: Options) {
    this.#options = options;
  }

  /** The user that one of the workspace's issuers authenticates; undefined if none does. */
  async authenticate(path: string, { authorization }: Pick<Credentials, 'authorization'>): Promise<User | undefined> {
    const token = authorization === undefined ? undefined : bearerToken(authorization);
    const cluster = this.#options.tree.resolve(path);
    if (token === undefined || cluster === undefined) return undefined;
    for (const authenticator of this.#authenticators(cluster)) {
      const found = await authenticator.authenticateToken(token, this.#options.audiences);
      if (found !== undefined) return guest(found.user, cluster);
    }
    return undefined;
  }

  /** The server's authenticators, then the workspace's for tokens that the server does not know. */
  tokensIn(cluster: ClusterId, tokens: BearerTokens): BearerTokens {
    return {
      ...tokens,
      authenticateToken: async (token, wanted) => {
        try {
          return await tokens.authenticateToken(token, wanted);
        } catch (error) {
          const user =
            error instanceof Unauthenticated ? await this.authenticate(cluster, { authorization: `Bearer ${token}` }) : undefined;
          if (user === undefined) throw error;
          return { user, audiences: sharedAudiences(this.#options.audiences, wanted) };
        }
      },
    };
  }

  *#authenticators(cluster: ClusterId): Iterable<TokenAuthenticator> {
    const { objects, tree } = this.#options;
    const type = logicalClusterOf(objects, cluster)?.metadata.annotations?.[typeAnnotation] ?? '';
    const colon = type.lastIndexOf(':');
    const home = colon < 0 ? undefined : tree.resolve(type.slice(0, colon));
    if (home === undefined) return;
    const found = objects.get({ ...workspaceTypes, cluster: home, namespace: '', name: type.slice(colon + 1) });
    for (const { name } of found?.spec?.authenticationConfigurations ?? []) {
      const configuration = objects.get({ ...configurations, cluster: home, namespace: '', name });
      if (configuration === undefined) continue;
      let made = this.#made.get(configuration);
      if (made === undefined) this.#made.set(configuration, (made = this.#make(configuration, home)));
      if (made instanceof Error) throw made;
      yield* made;
    }
  }

  #make(configuration: WorkspaceAuthenticationConfiguration, home: ClusterId): readonly TokenAuthenticator[] | Error {
    const { audiences, outbound, quarantine } = this.#options;
    const evaluated = evaluatedConfiguration(configuration);
    const beforeExpressions = (): void => {
      const held = quarantine.held(evaluated.identity);
      if (held !== undefined) throw new Unauthenticated(printHeld(held));
      quarantine.mark(evaluated);
    };
    try {
      return parseIssuers(configuration.spec?.jwt, audiences).map((issuer) =>
        // The root workspace belongs to the operator.
        oidc({ ...issuer, outbound: home === rootCluster ? undefined : outbound, beforeExpressions }),
      );
    } catch (error) {
      return error instanceof Error ? error : new Error(String(error));
    }
  }
}

export function evaluatedConfiguration({ metadata }: KubeObject): Evaluated {
  const name = `WorkspaceAuthenticationConfiguration ${JSON.stringify(metadata.name)}`;
  return { identity: `authentication ${metadata.uid} ${metadata.generation}`, name };
}

/** A tenant's issuer counts only in the tenant's workspace: it cannot grant system usernames or groups. */
function guest(user: User, cluster: ClusterId): User {
  if (user.name.startsWith('system:')) throw new Unauthenticated('system usernames are not admitted');
  const extra = Object.entries(user.extra ?? {}).filter(([key]) => !key.includes('kcp.io'));
  return {
    ...user,
    groups: [...user.groups.filter((group) => !group.startsWith('system:')), 'system:authenticated'],
    extra: { ...Object.fromEntries(extra), [scopesExtra]: [`cluster:${cluster}`], [clusterExtra]: [cluster] },
  };
}
