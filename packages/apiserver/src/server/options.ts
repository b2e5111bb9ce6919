import type { EtcdStoreOptions } from '@capstan/store';
import type { TunnelLimits } from '@capstan/streams';
import type { ObjectLimits } from '../admission/object-limits.ts';
import type { AgentArchivesOptions } from '../agent-archives/archives.ts';
import type { ArtifactLimits } from '../artifacts/store.ts';
import type { AuditLogOptions } from '../audit/log.ts';
import type { OidcOptions } from '../authn/oidc.ts';
import type { KubeletOptions } from '../connect/kubelet.ts';
import type { NodeSubresource } from '../connect/node-subresource.ts';
import type { Tunnels } from '../connect/tunnels.ts';
import type { ConnectionTimeouts } from '../http/connection.ts';
import type { HandshakeLimits } from '../http/handshakes.ts';
import type { OutboundOptions } from '../http/outbound.ts';
import type { ByteBudgetOptions } from '../limits/byte-budget.ts';
import type { InFlightOptions } from '../limits/in-flight.ts';
import type { OpenCountOptions } from '../limits/open-count.ts';
import type { SlotsOptions } from '../limits/slots.ts';
import type { LogStoreLimits } from '../log-store/store.ts';
import type { Advertised } from '../presence/addresses.ts';
import type { MountOptions } from '../workspaces/mounts/mounted.ts';
import type { StoredLimits } from '../workspaces/stored-limit.ts';
import type { AuthorizationOptions } from './authorization.ts';

/** How a server is started. */
export interface ServerOptions {
  /** Holds certificates, the admin's kubeconfig and, without etcd, the store. */
  readonly dataDirectory: string;
  readonly host: string;
  /** 0 takes any free one. */
  readonly port: number;
  /** Where clients reach the server, when that is not `host`: a load balancer, a DNS name. */
  readonly advertise?: Advertised;
  /** Names and addresses for the server's certificate beside those that it is known to have. */
  readonly names?: readonly string[];
  /** Keep objects in etcd instead of SQLite. */
  readonly etcd?: EtcdOptions;
  /** How long to wait for a SQLite store that another process holds, in milliseconds: a server that is ending lets go of it soon. Not at all when absent. */
  readonly storePatience?: number;
  /** Where and what the audit log records: every write and every denial, beside the data, when absent. */
  readonly audit?: Partial<AuditLogOptions>;
  readonly limits?: InFlightOptions & {
    readonly watches?: Partial<Omit<OpenCountOptions, 'what'>>;
    /** Streams to nodes: logs, commands, port-forwards and proxied requests. 10,000 and 1,000 when absent. */
    readonly streams?: Partial<Omit<OpenCountOptions, 'what'>>;
    /** Requests whose body has not arrived yet: 4,000, half of them in one organization, and 1,000 in one workspace when absent. */
    readonly unfinished?: Partial<Omit<OpenCountOptions, 'what'>>;
    /** Bytes of responses that clients have not read: 512 MiB, and 64 MiB of one organization when absent. */
    readonly unsentBytes?: Partial<ByteBudgetOptions>;
    /** Requests with longer bodies, in bytes, run one after another in each organization: 128 KiB when absent. */
    readonly largeBody?: number;
    /** Bytes of bodies in memory: 256 MiB, and 64 MiB of one organization when absent. */
    readonly bodyBytes?: Partial<ByteBudgetOptions>;
    /** How large the objects may be that the server compiles. */
    readonly objects?: Partial<ObjectLimits>;
    readonly webhooks?: {
      /** How many calls are under way: 512, and 64 for one organization when absent. */
      readonly calls?: Partial<SlotsOptions>;
      /** How many webhooks a workspace has in all its configurations: 1,000 when absent. */
      readonly perWorkspace?: number;
    };
    /** 20,000 when absent; never more than the process can hold without running out of file descriptors. */
    readonly connections?: number;
    /** From one address, or one /64 network: 2,000 when absent. */
    readonly connectionsPerAddress?: number;
    /** Of one organization, wherever from: three quarters of all when absent. */
    readonly connectionsPerTenant?: number;
    /** TLS handshakes: 500 in a second after a burst of 200 when absent. */
    readonly handshakes?: Partial<HandshakeLimits>;
    /** From the machine itself, where proxies and tunnels may stand for everybody: as many as overall when absent. */
    readonly connectionsFromLoopback?: number;
    /** How long clients may keep the server waiting. */
    readonly timeouts?: Partial<ConnectionTimeouts>;
  };
  /** Versions to serve that are not served unless somebody asks for them: `admissionregistration.k8s.io/v1beta1`. */
  readonly optionalVersions?: readonly string[];
  /** Names of admission plugins to go without: some of `optionalPlugins`. */
  readonly disabledPlugins?: readonly string[];
  /** PEM of an authority, beside our own, whose certificates clients show to say who they are. */
  readonly clientAuthority?: string;
  /** How many objects a workspace may hold whose logical cluster does not say it. */
  readonly workspaceObjectLimit?: number;
  /** How many characters the objects of a workspace, and of an organization, may have in JSON: 256 Mi and 1 Gi when absent. */
  readonly storedLimits?: Partial<StoredLimits>;
  /** How many workspaces an organization, that is, a workspace below root with everything in it, may have: 20,000 when absent. */
  readonly workspacesPerOrganization?: number;
  /** Where webhooks and issuers of workspaces, all but the root, may not lead; anywhere when absent. */
  readonly outbound?: OutboundOptions;
  /** Lets workspaces be mounted from elsewhere; nothing can when absent. */
  readonly mounts?: MountOptions;
  /** How kubelets are reached and checked. */
  readonly kubelets?: KubeletOptions;
  /** Nodes that dial in; none when absent. */
  readonly tunnels?: Tunnels;
  /** Subresources of our own kinds that nodes serve. */
  readonly nodeSubresources?: readonly NodeSubresource[];
  /** Groups whose members get a workspace of their own when they ask for `~`; everybody who is known when absent. */
  readonly homeCreators?: readonly string[];
  /** The text of a token file: token, user name, uid, groups. */
  readonly tokens?: string;
  /** Who decides about permission: roles alone when absent. */
  readonly authorization?: AuthorizationOptions;
  /** OpenID issuers whose tokens are taken. */
  readonly oidc?: readonly OidcOptions[];
  /** In milliseconds: history is kept at least this long, at most twice as long. Five minutes when absent. */
  readonly compactionInterval?: number;
  /** In milliseconds: events are deleted when nobody has written them for so long. An hour when absent. */
  readonly eventLifetime?: number;
  /** In milliseconds: how long the certificates of node agents are valid. A day when absent. */
  readonly nodeCertificateLifetime?: number;
  /** In milliseconds: how long numbers of nodes and units are used before nodes are asked again. Five seconds when absent, and ten for the metrics of all nodes. */
  readonly usageAge?: number;
  /** Windows, pings and the number of streams of tunnels. */
  readonly tunnelLimits?: Partial<TunnelLimits>;
  /** Where bare machines get the node agent from; they get none when absent. */
  readonly agentArchives?: AgentArchivesOptions;
  /** How much output of units is kept, and where: `logs` in the data directory when absent. */
  readonly logs?: Partial<LogStoreLimits> & { readonly directory?: string };
  /** How large artifacts may be, and where they are: `artifacts` in the data directory when absent. */
  readonly artifacts?: Partial<ArtifactLimits> & { readonly directory?: string };
  /** The version of Capstan, for node agents. */
  readonly version?: string;
  readonly log: (line: string) => void;
  /** Stops the server. */
  readonly signal?: AbortSignal;
}

export type EtcdOptions = Omit<EtcdStoreOptions, 'signal'>;

export interface RunningServer extends AsyncDisposable {
  readonly url: string;
  /** For processes on the same machine: works without a load balancer or DNS. */
  readonly localUrl: string;
  readonly kubeconfigPath: string;
  /** Resolves when the server has stopped. */
  readonly closed: Promise<void>;
}

/** Shared by all parts of a running server: the resources that end with it, its clock, and the signal to stop. */
export interface Lifetime {
  readonly resources: AsyncDisposableStack;
  readonly now: () => Date;
  readonly signal: AbortSignal;
}
