import type { KindDefinition, PermissionClaim } from '@capstan/api';
import type { Client } from '@capstan/client';
import type { Endpoints, Runnable } from '@capstan/controller';
import type { KubeObject } from '@capstan/machinery';

/** A rule of a role, as in `rbac.authorization.k8s.io`. */
export type PolicyRule =
  | {
      readonly apiGroups: readonly string[];
      readonly resources: readonly string[];
      readonly resourceNames?: readonly string[];
      readonly verbs: readonly string[];
    }
  /** On pages that are no objects. */
  | { readonly nonResourceURLs: readonly string[]; readonly verbs: readonly string[] };

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
  /** The most that tenants may do with the kinds; by default everything except writing `status`. */
  readonly tenantRules?: readonly PolicyRule[];
  /** Groups whose members may write `status` too, as far as the roles of the workspace allow it, such as node agents. */
  readonly reporters?: readonly string[];
  /** The rights of the account in root:platform, beside those on the export's view. */
  readonly rules: readonly PolicyRule[];
  /** Rights of the account in single namespaces of root:platform, which are created. */
  readonly namespaces?: readonly ProductNamespace[];
  readonly controllers: readonly ProductController[];
  /**
   * Objects of root:platform that come with the program, such as entries of catalogs. They are created, and renewed with every version; fields of `spec` that the owner has
   * changed stay as they are. The rights of `platform-controllers` must cover their kinds.
   */
  readonly content?: () => readonly ProductObject[];
}

export interface ProductNamespace {
  readonly name: string;
  readonly rules: readonly PolicyRule[];
}

export interface ProductObject {
  readonly kind: KindDefinition;
  readonly object: KubeObject;
}

export interface ProductController {
  readonly name: string;
  /** Called whenever this process begins to lead, and again after a failure. */
  readonly make: (places: ProductPlaces) => Runnable;
}

/** Where the controllers of a product work, as the product's account. The clients refuse to write once this process no longer leads. */
export interface ProductPlaces {
  /** The objects of all tenants that bound the product: the endpoints of its export's view. Run a controller there with `acrossEndpoints`. */
  readonly tenants: Endpoints;
  /** root:platform, where a controller runs by default. */
  readonly platform: Client;
}
