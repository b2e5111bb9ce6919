import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import {
  type AuthorizationOptions,
  type EtcdOptions,
  type MountOptions,
  parseAuditPolicy,
  parseAuthenticationConfiguration,
  parseAuthorizationConfiguration,
  type ServerOptions,
  type WebhookConnection,
} from '@capstan/apiserver';
import { connectionOf, loadKubeconfig } from '@capstan/client';
import { agentArchives } from '../agent-archives/preparation.ts';
import type { ApiServerConfig } from '../config/apiserver.ts';
import { Failure } from '../failure.ts';
import { processLog } from '../log.ts';
import type { ApiServerSettings } from './options.ts';
import { capstanVersion } from './version.ts';

type Part<Name extends keyof ApiServerConfig> = NonNullable<ApiServerConfig[Name]>;

/** Converts settings to the server's options, reading the files that they name. */
export function serverOptions({
  dataDirectory,
  host,
  port,
  advertise,
  etcdEndpoints,
  optionalVersions,
  logFormat,
  file,
}: ApiServerSettings): ServerOptions {
  return {
    dataDirectory,
    host,
    port,
    optionalVersions,
    log: processLog({ process: 'apiserver', format: logFormat }),
    version: capstanVersion(),
    agentArchives: agentArchives(dataDirectory),
    ...(advertise && { advertise }),
    ...(file.listen?.names && { names: file.listen.names }),
    ...(etcdEndpoints && { etcd: etcdOptions(etcdEndpoints, file.etcd ?? {}) }),
    ...(file.admission?.disabledPlugins && { disabledPlugins: file.admission.disabledPlugins }),
    ...(file.history?.compactionSeconds && { compactionInterval: file.history.compactionSeconds * 1000 }),
    ...(file.history?.eventSeconds && { eventLifetime: file.history.eventSeconds * 1000 }),
    ...(file.limits && { limits: limitOptions(file.limits) }),
    ...(file.kubelets && { kubelets: kubeletOptions(file.kubelets) }),
    ...(file.audit && { audit: auditOptions(file.audit) }),
    ...(file.unitLogs && { logs: logOptions(file.unitLogs) }),
    ...(file.artifacts && { artifacts: artifactOptions(file.artifacts) }),
    ...(file.authentication && authenticationOptions(file.authentication)),
    ...(file.authorization && { authorization: authorizationOptions(file.authorization) }),
    ...(file.workspaces?.homeCreatorGroups && { homeCreators: file.workspaces.homeCreatorGroups }),
    ...(file.workspaces?.mounts?.enabled && { mounts: mountOptions(file.workspaces.mounts) }),
    ...(file.workspaces?.outbound && { outbound: { deny: [], ...file.workspaces.outbound } }),
    ...(file.workspaces?.maxObjects && { workspaceObjectLimit: file.workspaces.maxObjects }),
    ...(file.workspaces && { storedLimits: storedLimits(file.workspaces) }),
    ...(file.workspaces?.maxPerOrganization && { workspacesPerOrganization: file.workspaces.maxPerOrganization }),
  };
}

export function storedLimits({
  maxStoredMiB,
  maxStoredPerOrganizationMiB,
}: Part<'workspaces'>): NonNullable<ServerOptions['storedLimits']> {
  return defined({ perWorkspace: mebibytes(maxStoredMiB), perOrganization: mebibytes(maxStoredPerOrganizationMiB) });
}

export function limitOptions(limits: Part<'limits'>): NonNullable<ServerOptions['limits']> {
  const { requests = {}, watches = {}, streams = {}, connections, connectionsPerAddress, connectionsFromLoopback } = limits;
  const { connectionsPerOrganization: connectionsPerTenant, handshakesPerSecond: perSecond } = limits;
  return {
    ...defined({ connections, connectionsPerAddress, connectionsFromLoopback, connectionsPerTenant }),
    ...classes(requests.reads, requests.writes),
    perUser: classes(requests.readsPerUser, requests.writesPerUser),
    agents: classes(requests.agentReads, requests.agentWrites),
    unfinished: openLimits({ total: requests.unfinished, perOrganization: requests.unfinishedPerOrganization }),
    ...defined({ largeBody: requests.largeKiB && requests.largeKiB * 1024 }),
    unsentBytes: byteLimits(limits.unsentMiB, limits.unsentPerOrganizationMiB),
    bodyBytes: byteLimits(limits.bodiesMiB, limits.bodiesPerOrganizationMiB),
    handshakes: defined({ perSecond }),
    ...(limits.objects !== undefined && { objects: limits.objects }),
    ...(limits.webhooks !== undefined && { webhooks: webhookLimits(limits.webhooks) }),
    streams: openLimits(streams),
    watches: {
      ...openLimits(watches),
      agents: {
        ...(watches.agents !== undefined && { overall: watches.agents }),
        ...(watches.perAgent !== undefined && { perLine: watches.perAgent }),
      },
    },
  };
}

/** Without the settings that are absent. */
function defined<T extends Readonly<Record<string, number | undefined>>>(values: T): { [Name in keyof T]?: number } {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as { [Name in keyof T]?: number };
}

function byteLimits(total: number | undefined, perOrganization: number | undefined): { overall?: number; perTenant?: number } {
  return defined({ overall: mebibytes(total), perTenant: mebibytes(perOrganization) });
}

const mebibytes = (count: number | undefined): number | undefined => (count === undefined ? undefined : count * 2 ** 20);

function webhookLimits({
  calls: overall,
  callsPerOrganization: perTenant,
  perWorkspace,
}: NonNullable<Part<'limits'>['webhooks']>): NonNullable<NonNullable<ServerOptions['limits']>['webhooks']> {
  return { calls: defined({ overall, perTenant }), ...defined({ perWorkspace }) };
}

interface OpenLimits {
  readonly total?: number | undefined;
  readonly perOrganization?: number | undefined;
  readonly perWorkspace?: number | undefined;
  readonly perUser?: number | undefined;
}

function openLimits({ total: overall, perOrganization: perTenant, perWorkspace: perLine, perUser }: OpenLimits): {
  overall?: number;
  perTenant?: number;
  perLine?: number;
  perUser?: number;
} {
  return defined({ overall, perTenant, perLine, perUser });
}

function classes(reads: number | undefined, writes: number | undefined): { readonly?: number; mutating?: number } {
  return { ...(reads !== undefined && { readonly: reads }), ...(writes !== undefined && { mutating: writes }) };
}

export function etcdOptions(endpoints: readonly string[], { prefix, ...files }: Part<'etcd'>): EtcdOptions {
  const tls = etcdTls(files);
  return { endpoints, ...(prefix && { prefix }), ...(tls && { tls }) };
}

function etcdTls({ authorityFile, certificateFile, keyFile }: Part<'etcd'>): EtcdOptions['tls'] {
  if (authorityFile === undefined) {
    if (certificateFile === undefined && keyFile === undefined) return undefined;
    throw new Failure('usage', 'etcd.certificateFile and etcd.keyFile also need etcd.authorityFile.');
  }
  return {
    ca: readPem(authorityFile),
    ...(certificateFile && { cert: readPem(certificateFile) }),
    ...(keyFile && { key: readPem(keyFile) }),
  };
}

function kubeletOptions({ authorityFile, ...options }: Part<'kubelets'>): NonNullable<ServerOptions['kubelets']> {
  return { ...options, ...(authorityFile && { authorities: readPem(authorityFile) }) };
}

export function logOptions({
  directory,
  maxLogMiB,
  maxWorkspaceMiB,
  maxTotalMiB,
  maxAgeDays,
}: Part<'unitLogs'>): NonNullable<ServerOptions['logs']> {
  const mebibyte = 2 ** 20;
  return {
    ...(directory !== undefined && { directory }),
    ...(maxLogMiB !== undefined && { log: maxLogMiB * mebibyte }),
    ...(maxWorkspaceMiB !== undefined && { workspace: maxWorkspaceMiB * mebibyte }),
    ...(maxTotalMiB !== undefined && { total: maxTotalMiB * mebibyte }),
    ...(maxAgeDays !== undefined && { age: maxAgeDays * 24 * 3_600_000 }),
  };
}

function artifactOptions({ directory, maxArtifactMiB, maxTotalMiB }: Part<'artifacts'>): NonNullable<ServerOptions['artifacts']> {
  return {
    ...(directory !== undefined && { directory }),
    ...(maxArtifactMiB !== undefined && { artifact: maxArtifactMiB * 2 ** 20 }),
    ...(maxTotalMiB !== undefined && { total: maxTotalMiB * 2 ** 20 }),
  };
}

type AuditOptions = NonNullable<ServerOptions['audit']>;

function auditOptions({ policyFile, logFile, mode, maxSizeMiB, maxBackups, maxAgeDays, sinks }: Part<'audit'>): AuditOptions {
  return {
    ...(policyFile && { policy: parsed(policyFile, parseAuditPolicy) }),
    ...(logFile && { file: logFile }),
    ...(mode && { mode }),
    ...(maxSizeMiB && { maxSize: maxSizeMiB * 1024 * 1024 }),
    ...(maxBackups && { maxBackups }),
    ...(maxAgeDays && { maxAge: maxAgeDays }),
    ...(sinks && { sinks: sinks.map(sinkOptions) }),
  };
}

type Sink = NonNullable<Part<'audit'>['sinks']>[number];

function sinkOptions({ type, configFile, batchSize, batchSeconds, bufferSize }: Sink): NonNullable<AuditOptions['sinks']>[number] {
  if (type !== 'webhook') return { type: 'stdout' };
  return {
    type,
    connection: webhookConnection(configFile!),
    ...(batchSize && { batchSize }),
    ...(batchSeconds && { batchDelay: batchSeconds * 1000 }),
    ...(bufferSize && { bufferSize }),
  };
}

function authenticationOptions({
  tokenFile,
  configurationFile,
  clientAuthorityFile,
}: Part<'authentication'>): Pick<ServerOptions, 'tokens' | 'oidc' | 'clientAuthority'> {
  return {
    ...(clientAuthorityFile && { clientAuthority: readPem(clientAuthorityFile) }),
    ...(tokenFile && { tokens: read(tokenFile) }),
    ...(configurationFile && { oidc: parsed(configurationFile, (text) => parseAuthenticationConfiguration(text, [])) }),
  };
}

function authorizationOptions({ configurationFile, ...always }: Part<'authorization'>): AuthorizationOptions {
  if (configurationFile === undefined) return always;
  const connect = (file: string): WebhookConnection => webhookConnection(resolve(dirname(configurationFile), file));
  return { ...always, order: parsed(configurationFile, (text) => parseAuthorizationConfiguration(text, connect)) };
}

function webhookConnection(path: string): WebhookConnection {
  const { server, ca, insecure, tlsServerName, credentials } = connectionOf(loadKubeconfig({ path }));
  return {
    url: server,
    ...(ca && { authorities: ca }),
    ...(insecure && { insecure }),
    ...(tlsServerName && { serverName: tlsServerName }),
    credentials: () => credentials.current(),
  };
}

function mountOptions({ backends = [] }: NonNullable<Part<'workspaces'>['mounts']>): MountOptions {
  return {
    backends: backends.map(({ url, authorityFile, certificateFile, keyFile }) => ({
      url: url!,
      ...(authorityFile && { authorities: readPem(authorityFile) }),
      ...(certificateFile && keyFile && { certificate: { cert: readPem(certificateFile), key: readPem(keyFile) } }),
    })),
  };
}

function parsed<Value>(file: string, parse: (text: string) => Value): Value {
  const text = read(file);
  try {
    return parse(text);
  } catch (error) {
    throw new Failure('usage', `${file}: ${(error as Error).message}`, error);
  }
}

function readPem(file: string): string {
  const text = read(file);
  if (!text.includes('-----BEGIN '))
    throw new Failure('badCertificate', `${file}: expected a PEM file, with a line that begins with "-----BEGIN".`);
  return text;
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new Failure('usage', `${file}: cannot be read: ${(error as Error).message}. Correct the path in the configuration file.`, error);
  }
}
