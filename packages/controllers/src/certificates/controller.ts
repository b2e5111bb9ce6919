import type { Client } from '@capstan/client';
import { type Controller, controller, done, type Result, requeueAfter, whenOutdated } from '@capstan/controller';
import type { KubeObject } from '@capstan/machinery';
import type { ControllerSettings, SigningSettings } from '../registration.ts';
import { endOf } from './cleaning.ts';
import { type CertificateActions, isAnswered, reconcileRequest } from './reconcile.ts';
import { requestType, type SigningRequest } from './request.ts';
import { kubernetesSigners, platformSigners, type Signer } from './signers.ts';
import { signWith } from './signing.ts';

type Settings = Pick<ControllerSettings, 'signing' | 'concurrency'>;

const reviews = { group: 'authorization.k8s.io', version: 'v1', resource: 'subjectaccessreviews', namespaced: false };
const backoff = { base: 200, max: 60_000 };
/** So far the queue may look ahead: clocks are set, and machines sleep. */
const longestWait = 3_600_000;

export function csrApproving({ concurrency }: Settings): Controller<SigningRequest> {
  return answering('csr-approving', { signers: kubernetesSigners, signing: undefined, concurrency });
}

export function csrSigning({ signing, concurrency }: Settings): Controller<SigningRequest> {
  const signers = kubernetesSigners.map((signer) => ({ ...signer, approvals: [] }));
  return answering('csr-signing', { signers: signing === undefined ? [] : signers, signing, concurrency });
}

export function nodeAgentCertificates({ signing, concurrency }: Settings): Controller<SigningRequest> {
  return answering('node-agent-certificates', { signers: platformSigners, signing, concurrency });
}

interface Answering {
  readonly signers: readonly Signer[];
  readonly signing: SigningSettings | undefined;
  readonly concurrency: number | undefined;
}

function answering(name: string, { signers, signing, concurrency = 4 }: Answering): Controller<SigningRequest> {
  return controller(name)
    .for<SigningRequest>(requestType, { predicate: ({ type, object }) => type !== 'deleted' && !isAnswered(object) })
    .reconcile(
      ({ object, client, signal }) =>
        object === undefined
          ? done
          : unlessChanged(() => reconcileRequest(structuredClone(object), signers, serverActions(client, signing, signal))),
      { concurrency, backoff },
    );
}

function serverActions(client: Client, signing: SigningSettings | undefined, signal: AbortSignal): CertificateActions {
  const requests = client.resource<SigningRequest>(requestType);
  return {
    async mayHave({ spec }, { subresource, name }) {
      const { username: user, uid, groups, extra } = spec;
      const asked = { group: requestType.group, version: '*', resource: requestType.resource, verb: 'create', subresource };
      const review = await client.resource<KubeObject & { status?: { allowed?: boolean } }>(reviews).create(
        {
          apiVersion: 'authorization.k8s.io/v1',
          kind: 'SubjectAccessReview',
          metadata: {},
          spec: { user, uid, groups, extra, resourceAttributes: { ...asked, ...(name !== undefined && { name }) } },
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

export function csrCleaning(): Controller<SigningRequest> {
  return controller('csr-cleaning')
    .for<SigningRequest>(requestType, { predicate: ({ type }) => type !== 'deleted' })
    .reconcile(
      ({ object, client, signal }) => {
        const end = object && endOf(object);
        if (object === undefined || end === undefined) return done;
        const wait = end - Date.now();
        if (wait > 0) return requeueAfter(Math.min(wait, longestWait));
        const { name = '', uid = '' } = object.metadata;
        return unlessChanged(async () => {
          await client.resource(requestType).delete(name, { preconditions: { uid }, signal });
          return done;
        });
      },
      { backoff },
    );
}

/** Somebody else wrote or deleted it: what comes of it will be looked at. */
async function unlessChanged(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    return whenOutdated(error);
  }
}
