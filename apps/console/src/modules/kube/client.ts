import type { KindReference } from '@capstan/api';
import { FetchTransport, type Outgoing, type Received, RestClient, type Transport } from '@capstan/client/browser';
import type { Trouble } from '../session/trouble.ts';

/** Proves to the console's process that a page of its own sends the request: a form of another origin cannot add a header. */
export const ownRequest = { 'x-capstan-console': '1' } as const;

type Listener = (trouble: Trouble) => void;
const onSignedOut = new Set<Listener>();

/** Calls the listener when the session is found to have ended. Returns a function that ends that. */
export function whenSignedOut(listener: Listener): () => void {
  onSignedOut.add(listener);
  return () => onSignedOut.delete(listener);
}

export function reportSignedOut(trouble: Trouble = 'session-over'): void {
  for (const listener of onSignedOut) listener(trouble);
}

/** The console's process adds the credentials: the page has none. */
class ConsoleTransport implements Transport {
  readonly #inner: Transport = new FetchTransport(location.origin);

  async send(outgoing: Outgoing): Promise<Received> {
    const received = await this.#inner.send({ ...outgoing, headers: { ...outgoing.headers, ...ownRequest } });
    if (received.code === 401) reportSignedOut();
    return received;
  }

  [Symbol.dispose](): void {}
}

let transport: Transport | undefined;

/** The API server, as the person who is signed in. */
export function kubeClient(workspace: string): RestClient {
  transport ??= new ConsoleTransport();
  return new RestClient(
    { server: `${location.origin}/kube/clusters/${workspace}` },
    { transport, retry: { attempts: 3, longestWait: 5_000 } },
  );
}

/** Paths outside of workspaces, such as those of the platform, and the REST API below `/rest`. */
export function clientUnder(path: string): RestClient {
  transport ??= new ConsoleTransport();
  return new RestClient({ server: `${location.origin}${path}` }, { transport, retry: { attempts: 2, longestWait: 5_000 } });
}

export interface Place {
  readonly workspace: string;
  readonly namespace?: string | undefined;
}

/** The path of a list on the API server. */
export function listPath(kind: Pick<KindReference, 'group' | 'version' | 'resource'>, { workspace, namespace }: Place): string {
  const root = kind.group === '' ? `/api/${kind.version}` : `/apis/${kind.group}/${kind.version}`;
  const scope = namespace === undefined ? '' : `/namespaces/${encodeURIComponent(namespace)}`;
  return `/clusters/${workspace}${root}${scope}/${kind.resource}`;
}
