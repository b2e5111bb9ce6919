import type { KubeObject } from '@capstan/machinery';

export const accountAnnotation = 'kubernetes.io/service-account.name';
const uidAnnotation = 'kubernetes.io/service-account.uid';

export interface TokenSecret extends KubeObject {
  readonly data?: Readonly<Record<string, string>>;
}

/** The actions available to the steps, for one service account. */
export interface TokenActions {
  readonly readAccount: () => Promise<KubeObject | undefined>;
  /** The secrets that hold tokens of accounts with this name. */
  readonly listSecrets: () => Promise<readonly TokenSecret[]>;
  /** A token that ends with the secret. */
  readonly issue: (secret: TokenSecret) => Promise<string>;
  readonly update: (secret: TokenSecret) => Promise<unknown>;
  readonly remove: (secret: TokenSecret) => Promise<unknown>;
  /** PEM of the authority that signs for the API server; undefined if it is not known. */
  readonly authority: string | undefined;
}

/** Deletes the tokens of accounts that are gone, and fills the secrets that lack a token. */
export async function reconcileTokens(actions: TokenActions): Promise<void> {
  const secrets = (await actions.listSecrets()).filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  if (secrets.length === 0) return;
  const account = await actions.readAccount();
  for (const secret of secrets) {
    if (account === undefined || !isOf(secret, account)) await actions.remove(secret);
    else await fill(secret, account, actions);
  }
}

/** An account that was created again under the same name is another one. */
function isOf({ metadata }: TokenSecret, account: KubeObject): boolean {
  const uid = metadata.annotations?.[uidAnnotation] ?? '';
  return uid === '' || uid === account.metadata.uid;
}

async function fill(secret: TokenSecret, account: KubeObject, { issue, update, authority }: TokenActions): Promise<void> {
  const { data = {}, metadata } = secret;
  const wanted = {
    ...(authority !== undefined && { 'ca.crt': encoded(authority) }),
    namespace: data['namespace'] || encoded(metadata.namespace ?? ''),
  };
  const isWhole = Object.entries(wanted).every(([key, value]) => data[key] === value) && Boolean(data['token']);
  if (isWhole) return;
  const token = data['token'] || encoded(await issue(secret));
  await update({
    ...secret,
    metadata: { ...metadata, annotations: { ...metadata.annotations, [uidAnnotation]: account.metadata.uid ?? '' } },
    data: { ...data, ...wanted, token },
  });
}

function encoded(text: string): string {
  return Buffer.from(text).toString('base64');
}
