import { type RoutedRequest, refuse } from '../requests/router.ts';
import { readAccess } from './access-file.ts';
import { ClusterConnections } from './cluster-credentials.ts';
import { proxyToCluster } from './cluster-proxy.ts';
import { serveShell } from './shell.ts';

type NodeRequest = RoutedRequest<{ kind: 'node'; path: string }>;

export interface AppAccessOptions {
  /** Holds a folder for each instance. */
  readonly directory?: string | undefined;
  readonly log: (line: string) => void;
}

const ownPath = /^\/apps\/([^/]+)\/(proxy|shell|access)(\/.*)?$/;

/** Gives users of the platform access to the instances of apps on this node, below `/node/apps/<UID of the instance>/`. */
export class AppAccess implements Disposable {
  readonly #options: AppAccessOptions;
  readonly #connections = new ClusterConnections();

  constructor(options: AppAccessOptions) {
    this.#options = options;
  }

  /** Returns false if the path is another. */
  serve(request: NodeRequest): Promise<void> | false {
    const [, instance, what, rest = '/'] = ownPath.exec(request.route.path) ?? [];
    return instance !== undefined && this.#serve(request, { instance, what: what!, rest });
  }

  [Symbol.dispose](): void {
    this.#connections[Symbol.dispose]();
  }

  async #serve(
    request: NodeRequest,
    { instance, what, rest }: { readonly instance: string; readonly what: string; readonly rest: string },
  ): Promise<void> {
    const { directory, log } = this.#options;
    // Without a name, the target would take the request for one of the agent itself, who may do anything there.
    if (request.user === '') return refuse(request, { code: 400, reason: 'BadRequest', message: 'expected the name of a user' });
    try {
      const access = await readAccess(instance, directory);
      if (access === undefined) return refuseMissing(request, 'no part in this instance');
      if (what === 'shell') return await serveShell(request, access, log);
      const connection = await this.#connections.of(instance, access);
      if (connection === undefined) return refuseMissing(request, 'no Kubernetes API of this instance');
      if (what === 'access') return void request.respond(204).end();
      await proxyToCluster(request, rest, connection);
    } catch (error) {
      // A path in the message is no secret of the tenant, who reads it.
      const message = `the access to this instance is not in order on its node: ${error instanceof Error ? error.message : String(error)}`;
      refuse(request, { code: 503, reason: 'ServiceUnavailable', message });
    }
  }
}

function refuseMissing(request: NodeRequest, what: string): void {
  refuse(request, { code: 404, reason: 'NotFound', message: `this node has ${what}` });
}
