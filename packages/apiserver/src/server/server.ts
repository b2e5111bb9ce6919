import { bootstrap, systemContext } from '../bootstrap/write.ts';
import { announce } from '../presence/announce.ts';
import { keepTidy } from '../upkeep/tidiness.ts';
import { bootstrapRoot } from '../workspaces/root/bootstrap.ts';
import { accessOf } from './access.ts';
import { compose } from './composition.ts';
import { openEndpoint } from './endpoint.ts';
import { startKeepers } from './keepers.ts';
import { kindsOf } from './kinds.ts';
import { keepNodesTidy } from './nodes.ts';
import type { Lifetime, RunningServer, ServerOptions } from './options.ts';
import { openStorage } from './storage.ts';

/** Starts an API server and resolves when it is ready. */
export async function startServer(options: ServerOptions): Promise<RunningServer> {
  const stop = new AbortController();
  const resources = new AsyncDisposableStack();
  resources.defer(() => stop.abort());
  try {
    return await start(options, { resources, now: () => new Date(), signal: stop.signal });
  } catch (error) {
    await resources.disposeAsync();
    throw error;
  }
}

/** Builds the server in phases, each of which needs only what the phases before it built. */
async function start(options: ServerOptions, lifetime: Lifetime): Promise<RunningServer> {
  const { resources, now, signal } = lifetime;
  const storage = await openStorage(options, lifetime);
  const kinds = kindsOf(storage, options, lifetime);
  const access = accessOf({ storage, kinds }, options, lifetime);
  const parts = { storage, kinds, access, ...compose({ storage, kinds, access }, options, lifetime) };
  const { serving } = parts;
  await bootstrap(serving, now);
  await bootstrapRoot(serving, systemContext(serving, now));
  const { definitions, spaces } = kinds;
  await startKeepers(serving, {
    definitions,
    boundKinds: spaces.boundKinds,
    platform: spaces.platform,
    resources,
    quarantine: storage.quarantine,
    now,
    log: options.log,
  });
  const listener = await openEndpoint(parts, options, lifetime);
  const { url, localUrl, kubeconfigPath } = resources.use(
    await announce(serving, { options, pki: storage.pki.current, listener, onRenewed: storage.pki.replace, now, signal }),
  );
  keepTidy(storage.cache, options, { now, signal });
  keepNodesTidy(access.nodes, serving, { ...lifetime, log: options.log });
  return running(options, { url, localUrl, kubeconfigPath, resources });
}

function running(
  options: ServerOptions,
  { resources, ...addresses }: Pick<RunningServer, 'url' | 'localUrl' | 'kubeconfigPath'> & { readonly resources: AsyncDisposableStack },
): RunningServer {
  const { promise: closed, resolve } = Promise.withResolvers<void>();
  let closing: Promise<void> | undefined;
  const close = (): Promise<void> => (closing ??= resources.disposeAsync().then(resolve));
  options.signal?.addEventListener('abort', () => void close(), { once: true });
  if (options.signal?.aborted === true) void close();
  return { ...addresses, closed, [Symbol.asyncDispose]: close };
}
