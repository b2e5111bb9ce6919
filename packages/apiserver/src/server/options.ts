/** How a server is started. */
export interface ServerOptions {
  /** Holds certificates, the admin's kubeconfig and, without etcd, the store. */
  readonly dataDirectory: string;
  readonly host: string;
  /** 0 takes any free one. */
  readonly port: number;
  /** Names and addresses for the server's certificate beside the usual ones. */
  readonly hosts?: readonly string[];
  /** Keep objects in etcd instead of SQLite. */
  readonly etcd?: EtcdOptions;
  readonly log: (line: string) => void;
  /** Stops the server. */
  readonly signal?: AbortSignal;
}

export interface EtcdOptions {
  readonly endpoints: readonly string[];
  readonly prefix?: string;
  readonly tls?: { readonly ca?: string; readonly cert?: string; readonly key?: string };
}

export interface RunningServer extends AsyncDisposable {
  readonly url: string;
  readonly kubeconfigPath: string;
  /** Resolves when the server has stopped. */
  readonly closed: Promise<void>;
}
