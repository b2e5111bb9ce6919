import { apisGroup, type ClusterId, everyCluster, platformOwnersGroup, superuserGroup, type User } from '@capstan/api';
import { status } from '@capstan/machinery';
import { clusterExtra } from '../../authn/service-account.ts';
import type { Attributes, Authorizer, Decision, Gate } from '../../authz/attributes.ts';
import { warrantsExtra } from '../../authz/effective-users.ts';
import { type AcceptedClaim, type BindingFacts, type Bindings, factsOf } from '../../bindings/bindings.ts';
import { apiBindings } from '../../bindings/bound-resources.ts';
import { exportLabelValue } from '../../bindings/names.ts';
import type { CacheEntry } from '../../cache/entry.ts';
import { clusterOfKey } from '../../cache/key.ts';
import type { AdmissionRequest } from '../../registry/admission.ts';
import type { Resource } from '../../registry/resource.ts';
import type { Scope } from '../../registry/scope.ts';
import type { ParsedRequest } from '../../request/info.ts';
import { isGuarded } from '../authorizer.ts';
import { prefixed } from '../maximal-policy.ts';
import type { WorkspaceView } from '../scopes.ts';
import type { Tree } from '../tree.ts';
import type { ExportClaim, ExportedKinds, ExportedKindsOf } from './exported-kinds.ts';

export interface ApiExportViewOptions {
  readonly tree: Tree;
  readonly kinds: ExportedKindsOf;
  readonly bindings: Bindings;
  /** Authorizes in the export's workspace. */
  readonly authorizer: Gate;
  /** The same, without the check for access to the workspace. */
  readonly rbac: Authorizer;
  readonly labelled: NonNullable<Scope['labelled']>;
}

/** Prefix of the keys of all scopes of an export. */
export const exportScopeKey = (cluster: ClusterId, name: string): string => `apiexport/${cluster}/${name}/`;

const readOnlyVerbs: ReadonlySet<string> = new Set(['get', 'list', 'watch']);
/** Gives no reason, since it could reveal something about workspaces that the user must not see. */
export const denied: Decision = { allowed: false, reason: 'access denied' };

/**
 * The view of an export's provider: objects of its own kinds and of the kinds that it claims, in the workspaces bound to it, as far as they
 * allow. It filters the same objects, so hidden objects cannot be reached with any verb.
 */
export function apiExportView(options: ApiExportViewOptions): WorkspaceView {
  return {
    scope({ of: [path = '', name = ''], cluster, info }): Scope {
      const provider = options.tree.resolve(path);
      const kinds = provider === undefined ? undefined : options.kinds.find(provider, name);
      // Only users who may use the view get NotFound; others must not learn whether the export exists.
      if (kinds === undefined) return { ...nothing(options, { provider, name }), cluster, key: '' };
      const look = new Look(options, { kinds, cluster, info });
      return {
        cluster,
        catalog: kinds.catalog,
        key: `${exportScopeKey(kinds.cluster, name)}${cluster}/${info.verb}`,
        shows: look.shows,
        labelled: options.labelled,
        authorizer: look,
        admission: look,
        insideAs: look.insideAs,
      };
    },
  };
}

/** An empty scope, for an export that does not exist. */
function nothing(
  { authorizer, kinds }: ApiExportViewOptions,
  { provider, name }: { provider: ClusterId | undefined; name: string },
): Pick<Scope, 'catalog' | 'shows' | 'authorizer'> {
  return {
    catalog: kinds.empty,
    shows: () => false,
    authorizer: {
      authorize: (attributes) => (provider === undefined ? denied : mayLook(authorizer, attributes, { cluster: provider, name })),
    },
  };
}

/** One request through the view. */
class Look implements Gate {
  readonly #options: ApiExportViewOptions;
  readonly #kinds: ExportedKinds;
  readonly #cluster: ClusterId;
  readonly #verb: string;
  readonly #label: string;
  /** The binding of the last requested workspace: objects are visited workspace by workspace. */
  #last: { cluster: ClusterId; generation: number; binding: BindingFacts | undefined } | undefined;

  constructor(options: ApiExportViewOptions, { kinds, cluster, info }: { kinds: ExportedKinds; cluster: ClusterId; info: ParsedRequest }) {
    this.#options = options;
    this.#kinds = kinds;
    this.#cluster = cluster;
    this.#verb = info.verb;
    this.#label = exportLabelValue(kinds.cluster, kinds.name);
  }

  readonly shows = (resource: Resource, entry: CacheEntry): boolean => {
    if (isBindings(resource) && this.#isOwnBinding(factsOf(entry))) return true;
    const binding = this.#binding(clusterOfKey(entry.key));
    if (binding === undefined) return false;
    if (this.#isOwn(resource)) return this.#isBound(binding, resource);
    const claim = this.#accepted(binding, resource);
    if (claim === undefined || !claim.selector.matches(entry.labels)) return false;
    // For a single workspace the verb is already authorized; across workspaces, each one decides.
    return this.#cluster !== everyCluster || this.#allowsVerb(claim, this.#verb);
  };

  authorize(attributes: Attributes): Decision | Promise<Decision> {
    if (isGuarded(attributes) && !attributes.user.groups.includes(superuserGroup)) return denied;
    const { cluster, name } = this.#kinds;
    const invited = this.#isInvited(attributes);
    if (!invited.allowed) return invited;
    const within = (decision: Decision): Decision => (decision.allowed ? this.#maximalPolicy(attributes, decision) : decision);
    const decision = mayLook(this.#options.authorizer, attributes, { cluster, name });
    return decision instanceof Promise ? decision.then(within) : within(decision);
  }

  /** Objects created through a claim with a label selector get the labels of the selector. */
  mutate(request: AdmissionRequest): void {
    const { operation, object, resource, name } = request;
    const claim = this.#claimOn(request);
    if (claim === undefined || object === undefined || operation === 'DELETE') return;
    for (const [key, value] of Object.entries(claim.labels)) {
      const labels = object.metadata.labels ?? {};
      if (!Object.hasOwn(labels, key)) object.metadata.labels = { ...labels, [key]: value };
      else if (labels[key] !== value) throw status.forbidden(resource, name, `protected label ${key} must have value ${value}`);
    }
  }

  validate(request: AdmissionRequest): void {
    const { object, old, resource, name } = request;
    const claim = this.#claimOn(request);
    if (claim === undefined || claim.selector.matches((object ?? old)?.metadata.labels ?? {})) return;
    throw status.forbidden(resource, name, 'object does not match required labels');
  }

  /** Inside the workspace, nothing else restricts a user whom the view has authorized. */
  readonly insideAs = (user: User): User => {
    const warrant = {
      user: 'system:serviceaccount:default:rest',
      groups: [platformOwnersGroup],
      extra: { [clusterExtra]: [this.#cluster] },
    };
    return { ...user, extra: { ...user.extra, [warrantsExtra]: [...(user.extra?.[warrantsExtra] ?? []), JSON.stringify(warrant)] } };
  };

  /** Whether the workspace allows the provider this request. Requests across all workspaces are filtered later. */
  #isInvited({ isResource, group, resource, subresource, verb }: Attributes): Decision {
    if (!isResource || this.#cluster === everyCluster) return allowed;
    const binding = this.#binding(this.#cluster);
    if (binding === undefined) return denied;
    const kind = { group, resource };
    if (this.#isOwn(kind) && this.#isBound(binding, kind)) return allowed;
    const claim = this.#isOwn(kind) || !isClaimable(subresource) ? undefined : this.#accepted(binding, kind);
    if (claim !== undefined && this.#allowsVerb(claim, verb)) return allowed;
    if (isBindings(kind)) return readOnlyVerbs.has(verb) ? allowed : denied;
    return denied;
  }

  /** A claim on another export's kind is limited by that export's maximal permission policy. */
  #maximalPolicy(attributes: Attributes, decision: Decision): Decision {
    const claim = this.#kinds.claims.get(`${attributes.group}/${attributes.resource}`);
    if (claim === undefined || claim.identity === '') return decision;
    const offering = this.#options.kinds.withIdentity(claim.identity);
    if (offering.length === 0) return denied;
    for (const { cluster, object } of offering) {
      if (object.spec?.maximalPermissionPolicy?.local === undefined) continue;
      if (!this.#options.rbac.authorize({ ...attributes, cluster, user: prefixed(attributes.user) }).allowed) return denied;
    }
    return decision;
  }

  #binding(cluster: ClusterId): BindingFacts | undefined {
    const { bindings } = this.#options;
    if (this.#last?.cluster !== cluster || this.#last.generation !== bindings.generation) {
      const found = bindings.to(cluster, { provider: this.#kinds.cluster, name: this.#kinds.name });
      this.#last = { cluster, generation: bindings.generation, binding: found && this.#isMeant(found) ? found : undefined };
    }
    return this.#last.binding;
  }

  /** An export with another identity than the bound one is a different export, which the workspace did not accept. */
  #isMeant({ bound }: BindingFacts): boolean {
    return bound.length === 0 || bound.some(({ identity }) => identity === this.#kinds.identity);
  }

  #isOwn({ group, resource }: Kind): boolean {
    return this.#kinds.own.has(`${group}/${resource}`);
  }

  #isOwnBinding({ provider, exportName, label }: BindingFacts): boolean {
    return provider === '' ? label === this.#label : provider === this.#kinds.cluster && exportName === this.#kinds.name;
  }

  #isBound({ bound }: BindingFacts, { group, resource }: Kind): boolean {
    return bound.some((one) => one.group === group && one.resource === resource && one.identity === this.#kinds.identity);
  }

  /** The claim on a kind, if the export makes it and the workspace accepts it. */
  #accepted(binding: BindingFacts, { group, resource }: Kind): AcceptedClaim | undefined {
    const claim = this.#kinds.claims.get(`${group}/${resource}`);
    return claim && binding.claims.find((one) => isSame(one, claim));
  }

  #allowsVerb(accepted: AcceptedClaim, verb: string): boolean {
    const claimed = this.#kinds.claims.get(`${accepted.group}/${accepted.resource}`);
    return includes(accepted.verbs, verb) && includes(claimed?.verbs ?? [], verb);
  }

  #claimOn({ resource }: AdmissionRequest): AcceptedClaim | undefined {
    const binding = this.#isOwn(resource) ? undefined : this.#binding(this.#cluster);
    return binding && this.#accepted(binding, resource);
  }
}

type Kind = Pick<Resource, 'group' | 'resource'>;

const allowed: Decision = { allowed: true, reason: '' };

/** A claim on service accounts does not include their tokens: claims cover an object and its status, but no other subresource. */
const isClaimable = (subresource: string): boolean => subresource === '' || subresource === 'status';

/** The right to use the view is `apiexports/content`, with the verb of the request. */
export function mayLook(
  authorizer: Gate,
  attributes: Attributes,
  { cluster, name }: { cluster: ClusterId; name: string },
): Decision | Promise<Decision> {
  const { user, verb } = attributes;
  const kind = { group: apisGroup, version: 'v1alpha1', resource: 'apiexports', subresource: 'content' };
  const decision = authorizer.authorize({ ...kind, cluster, user, verb, name, isResource: true, namespace: '', path: '' });
  return decision instanceof Promise ? decision.then(unexplained) : unexplained(decision);
}

const unexplained = (decision: Decision): Decision => (decision.allowed || decision.error !== undefined ? decision : denied);

function isBindings({ group, resource }: Kind): boolean {
  return resource === apiBindings.resource && group === apiBindings.group;
}

const isSame = (one: AcceptedClaim, other: ExportClaim): boolean =>
  one.resource === other.resource && one.group === other.group && one.identity === other.identity;

const includes = (verbs: readonly string[], verb: string): boolean => verbs.includes('*') || verbs.includes(verb);
