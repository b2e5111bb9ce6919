/** Everything below is for everybody: it contains no secrets. */
export const agentFilesPath = '/capstan/agent/';
/** The shell script that makes a bare machine a node. */
export const installScriptPath = `${agentFilesPath}install.sh`;

/** The machines that agents can be installed on by the control plane. */
export const agentPlatforms = ['linux-x64', 'linux-arm64'] as const;
export type AgentPlatform = (typeof agentPlatforms)[number];

/** Servers of this version work with agents from this one on. Agents must not be newer than the servers. */
export const oldestAgentVersion = '0.1.0';

/** Describes an archive: the response of `GET /capstan/agent/<platform>.json`. */
export interface AgentArchive {
  readonly platform: AgentPlatform;
  /** Of the agent in it, with the build after a plus sign: `0.1.0+3f2a9c41d0be`. */
  readonly version: string;
  /** Of the compressed archive, in hexadecimal digits. */
  readonly sha256: string;
  /** Of the compressed archive, in bytes. */
  readonly size: number;
  /** Of its contents, in bytes. */
  readonly unpackedSize: number;
}

export const agentArchivePath = (platform: AgentPlatform): string => `${agentFilesPath}${platform}.tar.gz`;
export const agentManifestPath = (platform: AgentPlatform): string => `${agentFilesPath}${platform}.json`;
