import type { ClusterId } from '@capstan/api';
import type { ObjectKey, ObjectReader } from '@capstan/kinds';
import { fieldsOf, parseFieldSelector, textOf } from '@capstan/machinery';
import type { Attributes, Authorizer, Decision } from '../attributes.ts';
import { type PolicyRule, ruleAllows } from '../rule.ts';
import { nodeNameOf } from './identity.ts';
import type { PodsOfNodes } from './pods-of-nodes.ts';
import { type ReferencedResource, volumeNeedsSecret } from './references.ts';
import { boundVolume } from './volumes.ts';

export interface NodeAuthorizerOptions {
  readonly objects: ObjectReader;
  readonly podsOfNodes: PodsOfNodes;
  /** Whether a workspace serves nodes. In others, nodes have no rights. */
  readonly servesNodes: (cluster: ClusterId) => boolean;
  /** The rights that every node has, for resources that are not divided among the nodes. */
  readonly rules: readonly PolicyRule[];
}

const allowed: Decision = { allowed: true, reason: '' };
const noOpinion: Decision = { allowed: false, reason: '' };
const refused = (reason: string): Decision => ({ allowed: false, reason });

const leaseNamespace = 'kube-node-lease';
const reading: ReadonlySet<string> = new Set(['get', 'list', 'watch']);
const changing: ReadonlySet<string> = new Set(['update', 'patch']);
const owning: ReadonlySet<string> = new Set(['get', 'create', 'update', 'patch', 'delete']);

/** A request of a node. */
interface Case extends Attributes {
  readonly node: string;
}

/**
 * Gives nodes access to their own objects and to those that their pods refer to, and nothing else. It has no opinion about other users.
 * Changes of objects that it allows are checked again by the admission plugin NodeRestriction, which knows their content.
 */
export function nodeAuthorizer({ objects, podsOfNodes, servesNodes, rules }: NodeAuthorizerOptions): Authorizer {
  const nodeOf = (at: Omit<ObjectKey, 'cluster'>, { cluster }: Case): string =>
    textOf(fieldsOf(objects.get({ ...at, cluster })?.['spec'])['nodeName']);

  const unrelated = ({ node }: Case): Decision => refused(`no relationship found between node '${node}' and this object`);

  function related(request: Case, isRelated: boolean): Decision {
    if (request.name === '') return refused('No Object name found');
    return isRelated ? allowed : unrelated(request);
  }

  const refers = (request: Case, resource: ReferencedResource): boolean => podsOfNodes.refers(request, resource, request.name);

  /** Whether a volume with a secret is bound to a claim of the node's pods. */
  function mounts({ cluster, node, namespace, name }: Case): boolean {
    for (const claim of podsOfNodes.claims(cluster, node)) {
      const volume = boundVolume(objects, { cluster, ...claim });
      if (volume !== undefined && volumeNeedsSecret(volume, claim.namespace, { namespace, name })) return true;
    }
    return false;
  }

  function readable(request: Case, isRelated: () => boolean): Decision {
    if (!reading.has(request.verb)) return refused('can only read resources of this type');
    if (request.subresource !== '') return refused('cannot read subresource');
    if (request.namespace === '') return refused('can only read namespaced object of this type');
    return related(request, request.name !== '' && isRelated());
  }

  function gettable(request: Case, isRelated: () => boolean): Decision {
    if (request.verb !== 'get') return refused('can only get individual resources of this type');
    if (request.subresource !== '') return refused('cannot get subresource');
    return related(request, request.name !== '' && isRelated());
  }

  /** The decisions about resources that are divided among the nodes. */
  const divided: Readonly<Record<string, (request: Case) => Decision>> = {
    '/secrets': (request) => readable(request, () => refers(request, 'secrets') || mounts(request)),
    '/configmaps': (request) => readable(request, () => refers(request, 'configmaps')),
    '/persistentvolumeclaims'(request) {
      const isRelated = (): boolean => refers(request, 'persistentvolumeclaims');
      if (request.subresource !== 'status') return gettable(request, isRelated);
      return changing.has(request.verb) ? related(request, isRelated()) : refused('can only get/update/patch this type');
    },
    '/persistentvolumes': (request) =>
      gettable(request, () => {
        const volume = objects.get({
          group: '',
          resource: 'persistentvolumes',
          cluster: request.cluster,
          namespace: '',
          name: request.name,
        });
        const { namespace, name } = fieldsOf(fieldsOf(volume?.['spec'])['claimRef']);
        return podsOfNodes.refers({ ...request, namespace: textOf(namespace) }, 'persistentvolumeclaims', textOf(name));
      }),
    'resource.k8s.io/resourceclaims': (request) => gettable(request, () => refers(request, 'resourceclaims')),
    'storage.k8s.io/volumeattachments': (request) => gettable(request, () => isOnNode(request)),
    '/serviceaccounts'(request) {
      if (request.verb === 'get' && request.subresource === '') return readable(request, () => refers(request, 'serviceaccounts'));
      if (request.verb !== 'create' || request.name === '') return refused('can only create tokens for individual service accounts');
      if (request.subresource !== 'token') return refused('can only create token subresource of serviceaccount');
      return related(request, refers(request, 'serviceaccounts'));
    },
    'coordination.k8s.io/leases'({ verb, namespace, name, node }) {
      if (!owning.has(verb)) return refused('can only get, create, update, patch, or delete a node lease');
      if (namespace !== leaseNamespace) return refused(`can only access leases in the "${leaseNamespace}" system namespace`);
      // A new object's name is in its content, which the admission plugin checks.
      if (verb !== 'create' && name !== node) return refused('can only access node lease with the same name as the requesting node');
      return allowed;
    },
    'storage.k8s.io/csinodes'({ verb, subresource, name, node }) {
      if (!owning.has(verb)) return refused('can only get, create, update, patch, or delete a CSINode');
      if (subresource !== '') return refused('cannot authorize CSINode subresources');
      if (verb !== 'create' && name !== node) return refused('can only access CSINode with the same name as the requesting node');
      return allowed;
    },
    'resource.k8s.io/resourceslices'(request) {
      const { verb, subresource } = request;
      if (subresource !== '') return refused('cannot authorize ResourceSlice subresources');
      if (verb === 'create') return allowed;
      if (verb === 'get' || verb === 'update' || verb === 'patch' || verb === 'delete') return related(request, isOnNode(request));
      return selectsOwn(request) ? allowed : refused('can only list/watch/deletecollection resourceslices with nodeName field selector');
    },
    '/nodes': ownNode,
    '/pods': (request) => ownPods(request, () => isOnNode(request)),
  };

  const isOnNode = (request: Case): boolean => {
    const { group, resource, name } = request;
    return name !== '' && nodeOf({ group, resource, namespace: request.namespace, name }, request) === request.node;
  };

  return {
    authorize(attributes) {
      const { user, cluster, isResource, group, resource } = attributes;
      const node = nodeNameOf(user, cluster);
      if (node === undefined || !servesNodes(cluster)) return noOpinion;
      if (node === '') return refused(`unknown node for user ${JSON.stringify(user.name)}`);
      const decide = isResource ? divided[`${group}/${resource}`] : undefined;
      if (decide !== undefined) return decide({ ...attributes, node });
      return rules.some((rule) => ruleAllows(rule, attributes)) ? allowed : noOpinion;
    },
  };
}

function ownNode({ verb, subresource, name, node }: Case): Decision {
  if (subresource === 'status') return changing.has(verb) ? allowed : noOpinion;
  if (subresource !== '') return noOpinion;
  if (verb === 'create' || changing.has(verb)) return allowed;
  if (!reading.has(verb)) return noOpinion;
  // Not whether it exists: a kubelet looks for its node before it creates it.
  if (name === node) return allowed;
  return refused(
    name === ''
      ? `node '${node}' cannot read all nodes, only its own Node object`
      : `node '${node}' cannot read '${name}', only its own Node object`,
  );
}

function ownPods(request: Case, isOnNode: () => boolean): Decision {
  const { verb, subresource, name, node } = request;
  if (subresource === 'status') return changing.has(verb) ? allowed : noOpinion;
  if (subresource === 'eviction') return verb === 'create' ? allowed : noOpinion;
  if (subresource !== '') return noOpinion;
  if (verb === 'create' || verb === 'delete') return allowed;
  if (!reading.has(verb)) return noOpinion;
  if (verb !== 'get' && selectsOwn(request)) return allowed;
  if (name === '') return refused(verb === 'get' ? 'No Object name found' : 'can only list/watch pods with spec.nodeName field selector');
  return isOnNode() ? allowed : refused(`no relationship found between node '${node}' and this object`);
}

/** Whether a request is limited to objects with the node in `spec.nodeName`. */
function selectsOwn({ selectors, node }: Case): boolean {
  if (selectors === undefined || selectors.field === '') return false;
  try {
    return parseFieldSelector(selectors.field).requirements.some(
      ({ field, operator, value }) => field === 'spec.nodeName' && operator === '=' && value === node,
    );
  } catch {
    return false;
  }
}
