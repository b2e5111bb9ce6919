import { nodePrefix } from '@capstan/api';
import { fieldsOf, type KubeObject, sameJson, status, textOf } from '@capstan/machinery';
import { parseCertificateRequest } from '@capstan/pki';
import type { Gate } from '../../../authz/attributes.ts';
import { nothingWanted } from '../../../authz/attributes.ts';
import { nodeNameOf } from '../../../authz/nodes/identity.ts';
import type { AdmissionPlugin, AdmissionRequest } from '../../../registry/admission.ts';
import { forbidden } from '../../forbidden.ts';
import { podNeedsAudience } from './audiences.ts';
import { forbiddenLabels } from './labels.ts';
import { mirrorPodProblem } from './mirror-pods.ts';

const leaseNamespace = 'kube-node-lease';
const kubeletSigners: ReadonlySet<string> = new Set(['kubernetes.io/kubelet-serving', 'kubernetes.io/kube-apiserver-client-kubelet']);
const pods = { group: '', resource: 'pods' };

/** A change that a node wants to make. Throws if the node may not. */
type Rule = (request: AdmissionRequest, node: string) => void | Promise<void>;

/**
 * Limits the changes of nodes to their own objects and pods, as far as that depends on the content of the objects; the Node authorizer does
 * the rest. It applies to nobody else.
 */
export function nodeRestriction(gate: Gate): AdmissionPlugin {
  const rules: Readonly<Record<string, Rule>> = {
    '/pods': changePod,
    '/nodes': changeNode,
    '/persistentvolumeclaims': changeClaim,
    '/serviceaccounts': (request, node) => requestToken(request, node, gate),
    'coordination.k8s.io/leases': changeLease,
    'storage.k8s.io/csinodes': (request, node) => requireOwnName(request, node, 'CSINode'),
    'resource.k8s.io/resourceslices': changeSlice,
    'certificates.k8s.io/certificatesigningrequests': requestCertificate,
  };
  return {
    name: 'NodeRestriction',
    mutate(request) {
      const { user, cluster } = request.context;
      const node = nodeNameOf(user, cluster);
      if (node === undefined) return;
      if (node === '') throw forbidden(request, `could not determine node from user ${JSON.stringify(user.name)}`);
      return rules[`${request.resource.group}/${request.resource.resource}`]?.(request, node);
    },
  };
}

const nodeOf = (pod: KubeObject | undefined): unknown => fieldsOf(pod?.['spec'])['nodeName'];

function changePod(request: AdmissionRequest, node: string): void {
  const { operation, subresource } = request;
  if (subresource === 'status') return changePodStatus(request, node);
  if (subresource === 'eviction') return evictPod(request, node);
  if (subresource !== '') throw forbidden(request, `unexpected pod subresource "${subresource}", only 'status' and 'eviction' are allowed`);
  if (operation === 'CREATE') return createPod(request, node);
  if (operation !== 'DELETE')
    throw forbidden(request, `unexpected operation "${operation}", node "${node}" can only create and delete mirror pods`);
  if (nodeOf(request.old) !== node) throw forbidden(request, `node "${node}" can only delete pods with spec.nodeName set to itself`);
}

function createPod(request: AdmissionRequest, node: string): void {
  const { objects, cluster } = request.context;
  const stored = objects.get({ group: '', resource: 'nodes', cluster, namespace: '', name: node });
  const problem = mirrorPodProblem(request.object!, node, stored);
  if (problem !== undefined) throw forbidden(request, problem);
}

function changePodStatus(request: AdmissionRequest, node: string): void {
  const { operation, object, old } = request;
  if (operation !== 'UPDATE') throw forbidden(request, `unexpected operation "${operation}"`);
  if (nodeOf(old) !== node) throw forbidden(request, `node "${node}" can only update pod status for pods with spec.nodeName set to itself`);
  if (!sameJson(old!.metadata.labels ?? {}, object!.metadata.labels ?? {}))
    throw forbidden(request, `node "${node}" cannot update labels through pod status`);
  const [before, after] = [fieldsOf(old!['status']), fieldsOf(object!['status'])];
  if (!sameJson(before['resourceClaimStatuses'] ?? [], after['resourceClaimStatuses'] ?? []))
    throw forbidden(request, `node "${node}" cannot update resource claim statues`);
  if (!sameJson(before['extendedResourceClaimStatus'] ?? null, after['extendedResourceClaimStatus'] ?? null))
    throw forbidden(request, `node "${node}" cannot update extended resource claim status`);
}

function evictPod(request: AdmissionRequest, node: string): void {
  const { context, namespace, name } = request;
  const pod = context.objects.get({ ...pods, cluster: context.cluster, namespace, name });
  if (pod === undefined) throw status.notFound(pods, name);
  if (nodeOf(pod) !== node) throw forbidden(request, `node ${node} can only evict pods with spec.nodeName set to itself`);
}

function changeNode(request: AdmissionRequest, node: string): void {
  const { operation, object, old, name } = request;
  if (name !== node) throw forbidden(request, `node "${node}" is not allowed to modify node "${name}"`);
  if (object === undefined) return;
  const [before, after] = [fieldsOf(old?.['spec']), fieldsOf(object['spec'])];
  const labels = forbiddenLabels(old?.metadata.labels ?? {}, object.metadata.labels ?? {});
  if (operation === 'CREATE') {
    if (after['configSource'] !== undefined)
      throw forbidden(request, `node "${node}" is not allowed to create pods with a non-nil configSource`);
    if (labels.length > 0) throw forbidden(request, `node "${node}" is not allowed to set the following labels: ${labels.join(', ')}`);
    return;
  }
  if (after['configSource'] !== undefined && !sameJson(after['configSource'], before['configSource'] ?? null))
    throw forbidden(request, `node "${node}" is not allowed to update configSource to a new non-nil configSource`);
  if (!sameJson(before['taints'] ?? [], after['taints'] ?? [])) throw forbidden(request, `node "${node}" is not allowed to modify taints`);
  if (!sameJson(old!.metadata.ownerReferences ?? [], object.metadata.ownerReferences ?? []))
    throw forbidden(request, `node "${node}" is not allowed to modify ownerReferences`);
  if (labels.length > 0) throw forbidden(request, `is not allowed to modify labels: ${labels.join(', ')}`);
}

/** The parts of a claim's status that kubelets report. */
const reported: ReadonlySet<string> = new Set(['capacity', 'conditions', 'allocatedResources', 'allocatedResourceStatuses']);

function changeClaim(request: AdmissionRequest, node: string): void {
  const { operation, subresource, object, old } = request;
  if (subresource !== 'status') throw forbidden(request, 'may only update PVC status');
  if (operation !== 'UPDATE') throw forbidden(request, `unexpected operation "${operation}"`);
  if (!sameJson(withoutReported(old!), withoutReported(object!)))
    throw forbidden(request, `node "${node}" is not allowed to update fields other than status.quantity and status.conditions`);
}

function withoutReported(claim: KubeObject): unknown {
  const { resourceVersion: _version, managedFields: _fields, ...metadata } = claim.metadata;
  const others = Object.entries(fieldsOf(claim['status'])).filter(([field]) => !reported.has(field));
  return { ...claim, metadata, status: Object.fromEntries(others) };
}

function requestToken(request: AdmissionRequest, node: string, gate: Gate): void | Promise<void> {
  const { operation, subresource, object, namespace, context } = request;
  if (operation !== 'CREATE' || subresource !== 'token') return;
  const spec = fieldsOf(object!['spec']);
  const bound = fieldsOf(spec['boundObjectRef']);
  const name = textOf(bound['name']);
  if (bound['apiVersion'] !== 'v1' || bound['kind'] !== 'Pod' || name === '')
    throw forbidden(request, 'node requested token not bound to a pod');
  if (textOf(bound['uid']) === '') throw forbidden(request, 'node requested token with a pod binding without a uid');
  const pod = context.objects.get({ ...pods, cluster: context.cluster, namespace, name });
  if (pod === undefined) throw status.notFound(pods, name);
  if (pod.metadata.uid !== bound['uid'])
    throw forbidden(
      request,
      `the UID in the bound object reference (${textOf(bound['uid'])}) does not match the UID in record. The object might have been deleted and then recreated`,
    );
  if (nodeOf(pod) !== node) throw forbidden(request, 'node requested token bound to a pod scheduled on a different node');
  return checkAudience(request, pod, gate);
}

function checkAudience(request: AdmissionRequest, pod: KubeObject, gate: Gate): void | Promise<void> {
  const { context, namespace, name, object } = request;
  const { cluster, user, objects } = context;
  const audiences = (fieldsOf(object!['spec'])['audiences'] ?? []) as readonly string[];
  if (audiences.length > 1) throw forbidden(request, 'node may only request 0 or 1 audiences');
  const [audience = ''] = audiences;
  if (podNeedsAudience(objects, { pod, cluster }, audience)) return;
  const settle = (allowed: boolean): void => {
    if (!allowed)
      throw forbidden(
        request,
        `audience "${audience}" not found in pod spec volume, ${user.name} is not authorized to request tokens for this audience`,
      );
  };
  const asked = { ...nothingWanted, cluster, user, namespace, name, isResource: true, version: 'v1', resource: audience };
  const decision = gate.authorize({ ...asked, verb: 'request-serviceaccounts-token-audience' });
  return decision instanceof Promise ? decision.then(({ allowed }) => settle(allowed)) : settle(decision.allowed);
}

function changeLease(request: AdmissionRequest, node: string): void {
  if (request.namespace !== leaseNamespace) throw forbidden(request, `can only access leases in the "${leaseNamespace}" system namespace`);
  requireOwnName(request, node, 'node lease');
}

function requireOwnName(request: AdmissionRequest, node: string, what: string): void {
  const name = request.operation === 'CREATE' ? request.object?.metadata.name : request.name;
  if (name !== node) throw forbidden(request, `can only access ${what} with the same name as the requesting node`);
}

function changeSlice(request: AdmissionRequest, node: string): void {
  const { operation, object, old } = request;
  if (operation === 'CREATE' && nodeOf(object) !== node)
    throw forbidden(request, 'can only create ResourceSlice with the same NodeName as the requesting node');
  if (operation === 'DELETE' && nodeOf(old) !== node)
    throw forbidden(request, 'can only delete ResourceSlice with the same NodeName as the requesting node');
}

function requestCertificate(request: AdmissionRequest, node: string): void {
  const { operation, object } = request;
  if (operation !== 'CREATE' || object === undefined) return;
  const { signerName, request: encoded } = fieldsOf(object['spec']);
  if (!kubeletSigners.has(textOf(signerName))) return;
  const parsed = parseCertificateRequest(Buffer.from(textOf(encoded), 'base64').toString('latin1'));
  if (typeof parsed === 'string') throw forbidden(request, `unable to parse csr: ${parsed}`);
  if (parsed.commonName !== `${nodePrefix}${node}`) throw forbidden(request, `can only create a node CSR with CN=system:node:${node}`);
}
