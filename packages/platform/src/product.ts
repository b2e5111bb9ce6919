import type { KindDefinition, PermissionClaim } from '@capstan/api';
import type { Client } from '@capstan/client';
import type { Runnable } from '@capstan/controller';

/** A rule of a role, as in `rbac.authorization.k8s.io`. */
export interface PolicyRule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly verbs: readonly string[];
}

/** The endpoints at which a product finds the objects of tenants. They change while it runs. */
export interface Endpoints {
  /** Calls back with every endpoint, now and whenever they change, until the signal is aborted. */
  follow(onChange: (clients: ReadonlyMap<string, Client>) => void, signal: AbortSignal): void;
}

/** Workspaces that bind a product without being asked. `platform` is root:platform itself. */
export type Binder = 'platform' | 'project' | 'home';

/** Everything that a product needs from the platform. */
export interface Product {
  /** Names the export `<name>.capstan.dev` and the account: `fleet`. */
  readonly name: string;
  /** The kinds that the export offers. */
  readonly kinds: readonly KindDefinition[];
  readonly boundBy: readonly Binder[];
  /** Those of `kinds` whose objects are written in root:platform and read everywhere. They are cluster-scoped. */
  readonly catalogs?: readonly KindDefinition[];
  /**
   * Objects of tenants that the product's controllers use, accepted by default. A claim on a kind of another product needs no identity: the platform adds it.
   */
  readonly claims?: readonly PermissionClaim[];
  /** What tenants may do at most with the kinds; by default everything except writing `status`. */
  readonly tenantRules?: readonly PolicyRule[];
  /** Groups whose members may write `status` too, as far as the roles of the workspace allow it, such as node agents. */
  readonly reporters?: readonly string[];
  /** The rights of the account in root:platform, beside those on the export's view. */
  readonly rules: readonly PolicyRule[];
  readonly controllers: readonly ProductController[];
}

export interface ProductController {
  readonly name: string;
  readonly make: (endpoints: { readonly tenants: Endpoints; readonly platform: Client }) => Runnable;
}
