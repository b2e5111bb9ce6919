import { nodeGroup, nodePrefix } from '@capstan/api';
import type { ParsedRequest } from '@capstan/pki';

/** The requests that a signer accepts, and those that need no approval by a person. */
export interface Signer {
  readonly name: string;
  /** Why the signer rejects a request; undefined if it accepts it. */
  readonly objection: (request: ParsedRequest, usages: readonly string[]) => string | undefined;
  readonly approvals: readonly Approval[];
  /** The longest validity of its certificates. */
  readonly maximumSeconds: number;
}

/** A right that stands for a person's approval: to create this subresource of `certificatesigningrequests`. */
export interface Approval {
  readonly subresource: string;
  /** Only for requesters that already have the identity that they ask for. */
  readonly forSelf: boolean;
  readonly message: string;
}

const year = 365 * 86_400;

/** The signers of Kubernetes. */
export const kubernetesSigners: readonly Signer[] = [
  { name: 'kubernetes.io/kube-apiserver-client', objection: clientObjection, approvals: [], maximumSeconds: year },
  {
    name: 'kubernetes.io/kube-apiserver-client-kubelet',
    objection: kubeletClientObjection,
    approvals: [
      {
        subresource: 'selfnodeclient',
        forSelf: true,
        message: 'Auto approving self kubelet client certificate after SubjectAccessReview.',
      },
      { subresource: 'nodeclient', forSelf: false, message: 'Auto approving kubelet client certificate after SubjectAccessReview.' },
    ],
    maximumSeconds: year,
  },
  { name: 'kubernetes.io/kubelet-serving', objection: kubeletServingObjection, approvals: [], maximumSeconds: year },
  { name: 'kubernetes.io/legacy-unknown', objection: () => undefined, approvals: [], maximumSeconds: year },
];

function clientObjection(_request: ParsedRequest, usages: readonly string[]): string | undefined {
  const other = usages.find((usage) => !['client auth', 'digital signature', 'key encipherment'].includes(usage));
  if (other !== undefined) return `invalid usage for client certificate: ${other}`;
  return usages.includes('client auth') ? undefined : 'missing required usage for client certificate: client auth';
}

function kubeletClientObjection(request: ParsedRequest, usages: readonly string[]): string | undefined {
  const { organizations, commonName } = request;
  if (!areExactly(organizations, [nodeGroup])) return 'subject organization is not system:nodes';
  return (
    namesObjection(request) ??
    (commonName.startsWith(nodePrefix) ? undefined : 'subject common name does not begin with system:node:') ??
    usagesObjection(usages, 'client auth')
  );
}

function kubeletServingObjection({ organizations, commonName, names }: ParsedRequest, usages: readonly string[]): string | undefined {
  if (!areExactly(organizations, [nodeGroup])) return 'subject organization is not system:nodes';
  if (names.dns.length === 0 && names.addresses.length === 0) return 'DNS or IP subjectAltName is required';
  if (names.emails.length > 0) return 'Email subjectAltNames are not allowed';
  if (names.uris.length > 0) return 'URI subjectAltNames are not allowed';
  return (
    usagesObjection(usages, 'server auth') ??
    (commonName.startsWith(nodePrefix) ? undefined : 'subject common name does not begin with system:node:')
  );
}

function namesObjection({ names }: ParsedRequest): string | undefined {
  if (names.dns.length > 0) return 'DNS subjectAltNames are not allowed';
  if (names.emails.length > 0) return 'Email subjectAltNames are not allowed';
  if (names.addresses.length > 0) return 'IP subjectAltNames are not allowed';
  return names.uris.length > 0 ? 'URI subjectAltNames are not allowed' : undefined;
}

/** Only RSA keys encrypt, so other keys do not need the usage. */
function usagesObjection(usages: readonly string[], purpose: string): string | undefined {
  const least = [purpose, 'digital signature'].sort();
  const all = [...least, 'key encipherment'].sort();
  return areExactly(usages, least) || areExactly(usages, all) ? undefined : `usages did not match [${all.join(' ')}]`;
}

function areExactly(found: readonly string[], wanted: readonly string[]): boolean {
  return found.length === wanted.length && wanted.every((one) => found.includes(one));
}
