import { superuserGroup } from '@capstan/api';
import type { KubeObject } from '@capstan/machinery';
import { fieldsOf, sameJson, textOf } from '@capstan/machinery';
import { parseCertificateRequest } from '@capstan/pki';
import type { Authorizer, Gate } from '../../authz/attributes.ts';
import { settled } from '../../authz/settled.ts';
import type { AdmissionPlugin, AdmissionRequest } from '../../registry/admission.ts';
import { forbidden } from '../forbidden.ts';

const group = 'certificates.k8s.io';
const clientSigner = 'kubernetes.io/kube-apiserver-client';

/** Checks permissions to approve and sign certificate requests, and rejects requests for the group system:masters. */
export function certificatePlugins(gate: Gate): readonly AdmissionPlugin[] {
  /** Whether the user has the permission for the signer, or for all signers of its domain. */
  const mayUse = ({ context }: AdmissionRequest, { verb, signer }: { verb: string; signer: string }, authorizer: Authorizer): boolean => {
    const asked = { cluster: context.cluster, user: context.user, verb, isResource: true, group, version: '*', resource: 'signers' };
    const mayWith = (name: string): boolean => authorizer.authorize({ ...asked, subresource: '', namespace: '', path: '', name }).allowed;
    return mayWith(signer) || mayWith(`${signer.split('/')[0]}/*`);
  };
  const check = (request: AdmissionRequest, verb: 'approve' | 'sign'): void | Promise<void> => {
    // The stored signer, so that changing it in the same request has no effect.
    const signer = signerOf(request.old!);
    return settled(gate, (authorizer) => {
      if (!mayUse(request, { verb, signer }, authorizer))
        throw forbidden(request, `user not permitted to ${verb} requests with signerName ${JSON.stringify(signer)}`);
    });
  };
  return [
    {
      name: 'CertificateApproval',
      validate(request) {
        if (isUpdateOf(request, 'approval')) return check(request, 'approve');
      },
    },
    {
      name: 'CertificateSigning',
      validate(request) {
        if (isUpdateOf(request, 'status') && !isSameStatus(request.old!, request.object!)) return check(request, 'sign');
      },
    },
    {
      name: 'CertificateSubjectRestriction',
      validate(request) {
        const { operation, resource, subresource, object } = request;
        if (operation !== 'CREATE' || !isRequests(resource) || subresource !== '' || object === undefined) return;
        if (signerOf(object) !== clientSigner) return;
        const pem = Buffer.from(textOf(fieldsOf(object['spec'])['request']), 'base64').toString('latin1');
        const parsed = parseCertificateRequest(pem);
        if (typeof parsed === 'string') throw forbidden(request, `failed to parse CSR: ${parsed}`);
        if (parsed.organizations.includes(superuserGroup))
          throw forbidden(request, `use of ${clientSigner} signer with ${superuserGroup} group is not allowed`);
      },
    },
  ];
}

const isRequests = (resource: { readonly group: string; readonly resource: string }): boolean =>
  resource.group === group && resource.resource === 'certificatesigningrequests';

function isUpdateOf({ operation, resource, subresource, object, old }: AdmissionRequest, part: string): boolean {
  return operation === 'UPDATE' && subresource === part && isRequests(resource) && object !== undefined && old !== undefined;
}

const signerOf = (object: KubeObject): string => textOf(fieldsOf(object['spec'])['signerName']);

function isSameStatus(left: KubeObject, right: KubeObject): boolean {
  const [a, b] = [fieldsOf(left['status']), fieldsOf(right['status'])];
  return (a['certificate'] ?? '') === (b['certificate'] ?? '') && sameJson(a['conditions'] ?? [], b['conditions'] ?? []);
}
