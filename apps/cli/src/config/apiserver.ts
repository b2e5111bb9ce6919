import { addressTypes, isRange, optionalPlugins } from '@capstan/apiserver';
import { parseAdvertise } from './advertise.ts';
import { checked, listOf, oneOf, section, text, truth, url, wholeNumber } from './shape.ts';

const path = text('a path');

const range = checked(text('loopback, linkLocal, private or a range such as 10.0.0.0/8'), (given) =>
  isRange(given) ? undefined : `expected loopback, linkLocal, private or a range such as 10.0.0.0/8, found ${JSON.stringify(given)}`,
);

/** The section `apiserver` of the configuration file. */
export const apiServerShape = section({
  /** Where clients reach the server, if not at the address it listens on. */
  advertise: checked(text('a host such as api.example.com or api.example.com:443'), (given) =>
    parseAdvertise(given) === undefined
      ? `expected a host such as api.example.com or api.example.com:443, found ${JSON.stringify(given)}`
      : undefined,
  ),
  listen: section({
    host: text('an address such as 127.0.0.1'),
    port: wholeNumber(1, 65_535),
    names: listOf(text('a host name or an address'), 'a list of host names and addresses'),
  }),
  etcd: checked(
    section({
      endpoints: listOf(url('a URL such as http://127.0.0.1:2379'), 'a list of URLs such as [http://127.0.0.1:2379]'),
      prefix: text('a prefix of keys such as /capstan'),
      authorityFile: path,
      certificateFile: path,
      keyFile: path,
    }),
    ({ endpoints }) => (endpoints === undefined ? 'expected "endpoints", a list of URLs, in etcd' : undefined),
  ),
  /** Versions that are served only on request, named as in --runtime-config. */
  runtimeConfig: section({ 'admissionregistration.k8s.io/v1beta1': truth }),
  admission: section({ disabledPlugins: listOf(oneOf(optionalPlugins, `one of ${[...optionalPlugins].join(', ')}`), 'a list of plugins') }),
  history: section({ compactionSeconds: wholeNumber(1, 86_400), eventSeconds: wholeNumber(60, 31_536_000) }),
  limits: section({
    connections: wholeNumber(10, 1_000_000),
    connectionsPerAddress: wholeNumber(1, 1_000_000),
    connectionsFromLoopback: wholeNumber(1, 1_000_000),
    connectionsPerOrganization: wholeNumber(1, 1_000_000),
    handshakesPerSecond: wholeNumber(10, 100_000),
    unsentMiB: wholeNumber(16, 1_000_000),
    unsentPerOrganizationMiB: wholeNumber(1, 1_000_000),
    bodiesMiB: wholeNumber(16, 1_000_000),
    bodiesPerOrganizationMiB: wholeNumber(4, 1_000_000),
    requests: section({
      reads: wholeNumber(10, 100_000),
      writes: wholeNumber(10, 100_000),
      readsPerUser: wholeNumber(1, 100_000),
      writesPerUser: wholeNumber(1, 100_000),
      agentReads: wholeNumber(10, 100_000),
      agentWrites: wholeNumber(10, 100_000),
      unfinished: wholeNumber(10, 1_000_000),
      unfinishedPerOrganization: wholeNumber(1, 1_000_000),
      largeKiB: wholeNumber(1, 4_096),
    }),
    watches: section({
      total: wholeNumber(10, 10_000_000),
      perOrganization: wholeNumber(1, 10_000_000),
      perWorkspace: wholeNumber(1, 10_000_000),
      perUser: wholeNumber(1, 10_000_000),
      agents: wholeNumber(10, 10_000_000),
      perAgent: wholeNumber(1, 10_000_000),
    }),
    objects: section({
      expressions: wholeNumber(1, 100_000),
      expressionCharacters: wholeNumber(1000, 10_000_000),
      webhooks: wholeNumber(1, 100_000),
      schemas: wholeNumber(1000, 10_000_000),
    }),
    webhooks: section({
      calls: wholeNumber(1, 100_000),
      callsPerOrganization: wholeNumber(1, 100_000),
      perWorkspace: wholeNumber(1, 100_000),
    }),
    streams: section({
      total: wholeNumber(1, 1_000_000),
      perOrganization: wholeNumber(1, 1_000_000),
      perWorkspace: wholeNumber(1, 1_000_000),
      perUser: wholeNumber(1, 1_000_000),
    }),
  }),
  kubelets: section({
    addressTypes: listOf(oneOf(new Set(addressTypes), `one of ${addressTypes.join(', ')}`), 'a list of types such as [InternalIP]'),
    authorityFile: path,
    skipCertificateCheck: truth,
  }),
  audit: section({
    policyFile: path,
    logFile: path,
    mode: oneOf(new Set(['blocking', 'batch'] as const), 'blocking or batch'),
    maxSizeMiB: wholeNumber(1, 100_000),
    maxBackups: wholeNumber(1, 10_000),
    maxAgeDays: wholeNumber(1, 36_500),
    /** Where events go beside the file. */
    sinks: listOf(
      checked(
        section({
          type: oneOf(new Set(['stdout', 'webhook'] as const), 'stdout or webhook'),
          configFile: path,
          batchSize: wholeNumber(1, 100_000),
          batchSeconds: wholeNumber(1, 3_600),
          bufferSize: wholeNumber(1, 1_000_000),
        }),
        ({ type, configFile, ...batch }) => {
          if (type === undefined) return 'expected "type", stdout or webhook';
          if (type === 'webhook')
            return configFile === undefined ? 'expected "configFile", a kubeconfig that describes the webhook' : undefined;
          const other = configFile === undefined ? Object.keys(batch)[0] : 'configFile';
          return other === undefined ? undefined : `expected nothing beside "type" for stdout, found "${other}"`;
        },
      ),
      'a list such as [{type: stdout}]',
    ),
  }),
  unitLogs: section({
    directory: path,
    maxLogMiB: wholeNumber(1, 100_000),
    maxWorkspaceMiB: wholeNumber(1, 10_000_000),
    maxTotalMiB: wholeNumber(1, 100_000_000),
    maxAgeDays: wholeNumber(1, 36_500),
  }),
  artifacts: section({ directory: path, maxArtifactMiB: wholeNumber(1, 10_000_000), maxTotalMiB: wholeNumber(1, 100_000_000) }),
  authentication: section({ tokenFile: path, configurationFile: path, clientAuthorityFile: path }),
  authorization: section({
    configurationFile: path,
    alwaysAllowGroups: listOf(text('a group'), 'a list of groups'),
    alwaysAllowPaths: listOf(text('a path such as /healthz'), 'a list of paths such as [/healthz]'),
  }),
  workspaces: section({
    maxObjects: wholeNumber(1, 1_000_000_000),
    maxPerOrganization: wholeNumber(1, 1_000_000_000),
    maxStoredMiB: wholeNumber(1, 1_000_000_000),
    maxStoredPerOrganizationMiB: wholeNumber(1, 1_000_000_000),
    homeCreatorGroups: listOf(text('a group'), 'a list of groups'),
    outbound: checked(
      section({ deny: listOf(range, 'a list such as [loopback, linkLocal, private]'), allow: listOf(range, 'a list of ranges') }),
      ({ deny }) => (deny === undefined ? 'expected "deny", a list such as [loopback, linkLocal, private]' : undefined),
    ),
    mounts: section({
      enabled: truth,
      backends: listOf(
        checked(
          section({ url: url('a URL such as https://clusters.example.com'), authorityFile: path, certificateFile: path, keyFile: path }),
          ({ url: given, certificateFile, keyFile }) => {
            if (given === undefined) return 'expected "url", an address that mounts may point to';
            return (certificateFile === undefined) === (keyFile === undefined)
              ? undefined
              : 'expected certificateFile and keyFile, or neither';
          },
        ),
        'a list of the servers that mounts may point to',
      ),
    }),
  }),
});

export type ApiServerConfig = ReturnType<typeof apiServerShape>;
