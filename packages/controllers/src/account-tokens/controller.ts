import { type Client, isNotFound, type ObjectKey, objectKey } from '@capstan/client';
import { type Controller, controller, done, type Result, whenOutdated } from '@capstan/controller';
import type { KubeObject } from '@capstan/machinery';
import type { ControllerSettings } from '../registration.ts';
import { accountAnnotation, reconcileTokens, type TokenSecret } from './reconcile.ts';

const accounts = { group: '', version: 'v1', resource: 'serviceaccounts', namespaced: true, kind: 'ServiceAccount' };
const secrets = { group: '', version: 'v1', resource: 'secrets', namespaced: true };
const holdsToken = { fieldSelector: 'type=kubernetes.io/service-account-token' };
/** A hundred years: the token ends with its secret. */
const lifetime = 100 * 365 * 24 * 60 * 60;

/** Watches secrets that hold tokens, and accounts that go away. */
export function accountTokenController(settings: Pick<ControllerSettings, 'authority' | 'concurrency'>): Controller {
  return controller('account-tokens')
    .for(accounts, { metadataOnly: true, predicate: ({ type }) => type === 'deleted' })
    .watches(secrets, accountOf, { ...holdsToken, metadataOnly: true })
    .reconcile(({ key, client, signal }) => keepTokens({ key, client, signal, authority: settings.authority }), {
      concurrency: settings.concurrency ?? 4,
      backoff: { base: 200, max: 60_000 },
      // Accounts are many, and those that have no secret need no look.
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
  try {
    await reconcileTokens({
      authority,
      readAccount: () => unlessGone(owners.metadata().get(name, { signal })),
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
      update: (secret) => held.update(secret, { signal }),
      remove: ({ metadata }) => unlessGone(held.delete(metadata.name ?? '', { preconditions: { uid: metadata.uid ?? '' }, signal })),
    });
    return done;
  } catch (error) {
    // Also when the namespace or the account went meanwhile, which is told in its turn.
    return whenOutdated(error);
  }
}

async function unlessGone<T>(asking: Promise<T>): Promise<T | undefined> {
  try {
    return await asking;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}
