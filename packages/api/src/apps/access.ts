/** The groups that users of the platform have in a Kubernetes cluster that is an app: those who may change the instance, and all others. Adapters bind roles to them. */
export const clusterAdminsGroup = 'capstan:admins';
export const clusterViewersGroup = 'capstan:viewers';

/** On the node of a member: holds a folder for each instance, named by its UID, in which steps of the adapter write `access.json`. */
export const appAccessDirectory = '/var/lib/capstan/apps';

/** The content of `access.json`. The agent reads the files that it names for every connection, so that certificates may be renewed. */
export interface AppAccessFile {
  /** Port of the Kubernetes API on the node. */
  readonly port?: number;
  /** Where it listens; 127.0.0.1 if absent. */
  readonly address?: string;
  /** PEM files: the authority of its certificate, and a client certificate that may impersonate users, with its key. */
  readonly authorityFile?: string;
  readonly certificateFile?: string;
  readonly keyFile?: string;
  /** Whether users get shells on this node. */
  readonly shell?: boolean;
  /** The Unix account of a user, by the user's name. Users whose name is that of an account need no entry. */
  readonly accounts?: Readonly<Record<string, string>>;
}

/** Headers between API servers and agents: the groups of the user, escaped and joined by commas, and the method of a request that changes protocols. */
export const accessGroupsHeader = 'capstan-groups';
export const accessMethodHeader = 'capstan-method';

/** Paths below `/node` on an agent. */
export const accessProxyPath = (instance: string): string => `/apps/${instance}/proxy`;
export const accessShellPath = (instance: string): string => `/apps/${instance}/shell`;
/** Answers 204 if the node has a Kubernetes API of the instance. */
export const accessCheckPath = (instance: string): string => `/apps/${instance}/access`;
