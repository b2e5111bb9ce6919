import type { ProbeAnswer } from '../../adapter/contract.ts';

/** The findings of the script `probe`. */
export interface Findings {
  /** `active` if the service runs. */
  readonly service: string;
  /** Whether the API answers that it is ready; undefined on agents. */
  readonly isApiReady?: boolean;
  /** The condition `Ready` of nodes, by name: `True`, `False` or `Unknown`. A server reports all, an agent its own. */
  readonly nodes: ReadonlyMap<string, string>;
  /** Nodes that take no new pods. */
  readonly cordoned: ReadonlySet<string>;
  readonly version?: string;
  readonly certificatesExpireAt?: string;
  /** Whether there are certificates, of which none says when it expires. */
  readonly isExpiryUnknown: boolean;
  /** Whether one expires within 30 days. */
  readonly isExpiring: boolean;
  readonly snapshots: readonly string[];
  /** Whether systemd starts the service with the machine, as it says; undefined without systemd. */
  readonly enabled?: string;
  /** The hash of the configuration file without its secrets, or `missing`. */
  readonly config?: string;
  /** The members that the nodes of the cluster are labelled with, by the name of the node. */
  readonly labels: ReadonlyMap<string, string>;
}

/** The script prints lines such as `node gpu-1 True`. Unknown ones are ignored, so that versions can differ. */
export function findingsOf({ output }: ProbeAnswer): Findings {
  const lines = output.split('\n').map((line) => line.trim().split(/\s+/));
  const last = (name: string): string | undefined => lines.findLast(([first]) => first === name)?.[1];
  const [api, version, expires] = [last('api'), last('version'), last('expires')];
  const [enabled, config] = [last('enabled'), last('config')];
  return {
    service: last('service') ?? 'unknown',
    ...(api !== undefined && { isApiReady: api === 'ready' }),
    nodes: new Map(lines.flatMap(([first, name, status]) => (first === 'node' && name !== undefined ? [[name, status ?? 'Unknown']] : []))),
    cordoned: new Set(lines.flatMap(([first, name]) => (first === 'cordoned' && name !== undefined ? [name] : []))),
    ...(version !== undefined && { version }),
    ...(expires !== undefined && !Number.isNaN(Date.parse(expires)) && { certificatesExpireAt: new Date(expires).toISOString() }),
    isExpiryUnknown: expires === 'unknown',
    isExpiring: last('expiring') === 'true',
    snapshots: lines.flatMap(([first, name]) => (first === 'snapshot' && name !== undefined ? [name] : [])),
    ...(enabled !== undefined && { enabled }),
    ...(config !== undefined && { config }),
    labels: new Map(lines.flatMap(([first, name, member]) => (first === 'label' && name !== undefined ? [[name, member ?? '']] : []))),
  };
}
