import { gpuNodeKind, type NodeRefusal } from '@capstan/api';
import { StatusError } from '@capstan/machinery';

const messages: Readonly<Record<NodeRefusal, string>> = {
  TokenReplayed:
    'the token was used before, with another key. Somebody else may have it: delete the GPUNode if its machine is not yours, and enrol again',
  NodeLocked:
    'the node is locked, because two machines have used its identity. Find out which machine is the right one, and enrol it again',
  NodeRemoved: 'the GPUNode was deleted. To use this machine again, enrol it with a new token',
  KeyReplaced: 'the key is neither the current key of the node nor the one before it. If this machine is the right one, enrol it again',
  InvalidRequest: 'the request is invalid',
  NoSigner: 'this API server has no signer: put signer.crt and signer.key into its pki folder, or ca.key, with which it makes them',
  NotInstalled: 'the kinds of fleet.capstan.dev are not installed in root:platform yet; try again later',
  NamespaceBusy: 'the namespace of a former node of this name is still being deleted; try again later',
};

const codes: Partial<Record<NodeRefusal, number>> = { InvalidRequest: 400, NoSigner: 503, NotInstalled: 503, NamespaceBusy: 503 };
const reasons: Readonly<Record<number, string>> = { 400: 'BadRequest', 403: 'Forbidden', 503: 'ServiceUnavailable' };

/** The error for a machine that gets no certificate. Programs read the reason from its cause. */
export function refused(refusal: NodeRefusal, node: string, more?: string): StatusError {
  const code = codes[refusal] ?? 403;
  const message = more === undefined ? messages[refusal] : `${messages[refusal]}: ${more}`;
  return new StatusError({
    code,
    reason: reasons[code]!,
    message: `${gpuNodeKind.resource} ${JSON.stringify(node)}: ${message}`,
    details: { name: node, group: gpuNodeKind.group, kind: gpuNodeKind.resource, causes: [{ reason: refusal, message }] },
  });
}
