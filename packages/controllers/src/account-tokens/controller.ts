import { type Client, isNotFound, type ObjectKey, objectKey } from '@capstan/client';
import { type Controller, controller, done, ignoring, type Result } from '@capstan/controller';
import type { KubeObject } from '@capstan/machinery';
import type { ControllerSettings } from '../registration.ts';
import { accountAnnotation, reconcileTokens, type TokenSecret } from './reconcile.ts';

const accounts = { group: '', version: 'v1', resource: 'serviceaccounts', namespaced: true, kind: 'ServiceAccount' };
const secrets = { group: '', version: 'v1', resource: 'secrets', namespaced: true };
const holdsToken = { fieldSelector: 'type=kubernetes.io/service-account-token' };
/** In seconds, a hundred years: the token ends with its secret. */
const lifetime = 100 * 365 * 24 * 60 * 60;

/** Watches secrets that hold tokens, and deleted service accounts. */
export function accountTokenController(settings: Pick<ControllerSettings, 'authority' | 'concurrency'>): Controller {
  return controller('account-tokens')
    .for(accounts, { metadataOnly: true, predicate: ({ type }) => type === 'deleted' })
    .watches(secrets, accountOf, { ...holdsToken, metadataOnly: true })
    .reconcile(({ key, client, signal }) => keepTokens({ key, client, signal, authority: settings.authority }), {
      concurrency: settings.concurrency ?? 4,
      backoff: { base: 200, max: 60_000 },
      // There are many accounts, and those without a secret need no check.
      resyncEvery: 0,
    });
}

function accountOf(secret: KubeObject): ObjectKey[] {
  const name = secret.metadata.annotations?.[accountAnnotation] ?? '';
  return name === '' ? [] : [{ ...objectKey(secret), name }];
}

interface Work {
  readonly key: ObjectKey;
  readonly client: Client;
  readonly signal: AbortSignal;
  readonly authority: string | undefined;
}

async function keepTokens({ key: { namespace, name }, client, signal, authority }: Work): Promise<Result> {
  const held = client.resource<TokenSecret>(secrets).in(namespace);
  const owners = client.resource(accounts).in(namespace);
  await reconcileTokens({
    authority,
    readAccount: () => ignoring(owners.metadata().get(name, { signal }), isNotFound),
    listSecrets: async () =>
      (await held.list({ ...holdsToken, signal })).items.filter(({ metadata }) => metadata.annotations?.[accountAnnotation] === name),
    issue: async ({ metadata }) => {
      const boundObjectRef = { kind: 'Secret', apiVersion: 'v1', name: metadata.name, uid: metadata.uid };
      const body = {
        apiVersion: 'authentication.k8s.io/v1',
        kind: 'TokenRequest',
        metadata: {},
        spec: { expirationSeconds: lifetime, boundObjectRef },
      } as KubeObject;
      const answer = await owners.writeSubresource(name, { subresource: 'token', method: 'POST', body, signal });
      return (answer as unknown as { status: { token: string } }).status.token;
    },
    update: (secret) => ignoring(held.update(secret, { signal }), isNotFound),
    remove: ({ metadata }) =>
      ignoring(held.delete(metadata.name ?? '', { preconditions: { uid: metadata.uid ?? '' }, signal }), isNotFound),
  });
  return done;
}
