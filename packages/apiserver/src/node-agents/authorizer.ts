import {
  agentFilesPath,
  apiServerGroup,
  appAccountGroup,
  appReportsPath,
  artifactsPath,
  authorityByHashPath,
  authorityPath,
  type ClusterId,
  enrollPath,
  fleetGroup,
  gpuNodeKind,
  logStorePath,
  nodeAgentGroup,
  nodeEnrollmentGroup,
  nodeNamespace,
  nodeOfAgent,
  nodeOfEnrollment,
  nodeScriptKind,
  nodeTaskKind,
  nodeUnitKind,
  nodeVolumeKind,
  renewPath,
  rootCluster,
  serversPath,
} from '@capstan/api';
import { tunnelPath } from '@capstan/streams';
import type { Attributes, Decision, Gate } from '../authz/attributes.ts';
import { relayPath } from './paths.ts';

const allowed: Decision = { allowed: true, reason: '' };
const denied = (reason: string): Decision => ({ allowed: false, reason, denied: true });

/** Users of nodes have no rights but these, whatever roles say. */
const forAgents = denied('node agents may use only their own node and its namespace');
const forServers = denied('only API servers may use the tunnels of others');
const forEnrollments = denied('an enrolment token may only be used to enrol');
const forAppAccounts = denied('the account of an instance may only report on it');

const ownPages = new Map([
  [serversPath, 'get'],
  [tunnelPath, 'post'],
]);
/** They prove themselves, or contain nothing secret. */
const publicPages = new Map([
  [authorityPath, 'get'],
  [renewPath, 'post'],
]);
const publicFolders = [authorityByHashPath, agentFilesPath];
const harmless = /^\/(api|apis|openapi|version|healthz|livez|readyz)(\/|$)/;

/** Kinds in the namespace of a node that its agent works on. */
const workKinds: ReadonlySet<string> = new Set([nodeTaskKind, nodeUnitKind, nodeVolumeKind].map(({ resource }) => resource));

const readVerbs = new Set(['get', 'list', 'watch']);
const statusVerbs = new Set(['get', 'patch', 'update']);
const leaseVerbs = new Set(['create', 'get', 'list', 'patch', 'update', 'watch']);

/** Decides about the users of nodes and about pages that are open to everybody, and leaves all else to `others`. */
export function agentAuthorizer<G extends Gate>(others: G, platform: () => ClusterId | undefined): G {
  return {
    ...others,
    authorize(attributes: Attributes) {
      const { user, isResource, path, verb } = attributes;
      if (!isResource && path.startsWith('/capstan/') && attributes.cluster === rootCluster) {
        if (publicPages.get(path) === verb || (verb === 'get' && publicFolders.some((folder) => path.startsWith(folder)))) return allowed;
        // The page knows who may report on what.
        if (verb === 'post' && path.startsWith(appReportsPath)) return allowed;
        if (path === relayPath) return verb === 'post' && user.groups.includes(apiServerGroup) ? allowed : forServers;
      }
      if (!user.name.startsWith('system:capstan-')) return others.authorize(attributes);
      if (user.groups.includes(appAccountGroup)) return forAppAccounts;
      const node = user.groups.includes(nodeAgentGroup) ? nodeOfAgent(user.name) : undefined;
      if (node !== undefined) return mayAgent(node, attributes, platform) ? allowed : forAgents;
      if (user.groups.includes(nodeEnrollmentGroup) && nodeOfEnrollment(user.name) !== undefined)
        return !isResource && path === enrollPath && verb === 'post' && attributes.cluster === rootCluster ? allowed : forEnrollments;
      return others.authorize(attributes);
    },
  };
}

function mayAgent(node: string, attributes: Attributes, platform: () => ClusterId | undefined): boolean {
  const { cluster, isResource, verb, path } = attributes;
  const isInPlatform = cluster === platform();
  if (!isResource) {
    if (cluster !== rootCluster && !isInPlatform) return false;
    // The page knows which logs are those of the agent's node.
    if (cluster === rootCluster && verb === 'put' && path.startsWith(logStorePath)) return true;
    if (cluster === rootCluster && verb === 'get' && path.startsWith(artifactsPath)) return true;
    return (cluster === rootCluster && ownPages.get(path) === verb) || (verb === 'get' && harmless.test(path));
  }
  if (!isInPlatform) return false;
  const { group, resource, subresource, namespace, name } = attributes;
  if (group === fleetGroup && resource === gpuNodeKind.resource && name === node)
    return subresource === '' ? readVerbs.has(verb) : subresource === 'status' && statusVerbs.has(verb);
  // By name: tasks name the scripts that they run.
  if (group === fleetGroup && resource === nodeScriptKind.resource && subresource === '') return verb === 'get' && name !== '';
  if (namespace !== nodeNamespace(node)) return false;
  // By name: tasks name the Secrets that they need.
  if (group === '' && resource === 'secrets' && subresource === '') return verb === 'get' && name !== '';
  if (group === 'coordination.k8s.io' && resource === 'leases' && subresource === '') return leaseVerbs.has(verb);
  if (group === fleetGroup && workKinds.has(resource))
    return subresource === '' ? readVerbs.has(verb) : subresource === 'status' && statusVerbs.has(verb);
  return false;
}
