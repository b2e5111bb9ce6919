import type { Client } from '@capstan/client';
import { type Controller, controller, done } from '@capstan/controller';
import type { KubeObject } from '@capstan/machinery';
import type { ControllerSettings, SigningSettings } from '../registration.ts';
import { signWith } from './issue.ts';
import { type CertificateActions, isAnswered, reconcileRequest } from './reconcile.ts';
import { requestType, type SigningRequest } from './request.ts';
import type { Signer } from './signers.ts';

export type CertificateSettings = Pick<ControllerSettings, 'signing' | 'concurrency'>;

const reviews = { group: 'authorization.k8s.io', version: 'v1', resource: 'subjectaccessreviews', namespaced: false };

interface Answering extends CertificateSettings {
  readonly signers: readonly Signer[];
}

/** A controller that approves or signs, for some signers, the requests that are not answered yet. */
export function answering(name: string, { signers, signing, concurrency = 4 }: Answering): Controller<SigningRequest> {
  return controller(name)
    .for<SigningRequest>(requestType, { predicate: ({ type, object }) => type !== 'deleted' && !isAnswered(object) })
    .reconcile(
      ({ object, client, signal }) =>
        object === undefined ? done : reconcileRequest(structuredClone(object), signers, serverActions(client, signing, signal)),
      { concurrency, backoff: { base: 200, max: 60_000 } },
    );
}

function serverActions(client: Client, signing: SigningSettings | undefined, signal: AbortSignal): CertificateActions {
  const requests = client.resource<SigningRequest>(requestType);
  return {
    async mayHave({ spec }, subresource) {
      const { username: user, uid, groups, extra } = spec;
      const asked = { group: requestType.group, version: '*', resource: requestType.resource, verb: 'create', subresource };
      const review = await client.resource<KubeObject & { status?: { allowed?: boolean } }>(reviews).create(
        {
          apiVersion: 'authorization.k8s.io/v1',
          kind: 'SubjectAccessReview',
          metadata: {},
          spec: { user, uid, groups, extra, resourceAttributes: asked },
        },
        { signal },
      );
      return review.status?.allowed === true;
    },
    writeApproval: (request) => {
      const name = request.metadata.name ?? '';
      return requests.writeSubresource(name, { subresource: 'approval', method: 'PUT', body: request, signal }) as Promise<SigningRequest>;
    },
    writeStatus: (request) => requests.updateStatus(request, { signal }),
    sign:
      signing &&
      ((request, { spec }, { maximumSeconds }) => {
        const { usages = [], expirationSeconds } = spec;
        return signWith(signing, { request, usages, expirationSeconds, maximumSeconds, now: new Date() });
      }),
  };
}
