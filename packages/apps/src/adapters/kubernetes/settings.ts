import type { JsonObject } from '@capstan/machinery/objects';
import { type AdapterInstance, type AdapterMember, AdapterProblem, type Facts, type InstanceRequest } from '../../adapter/contract.ts';
import { type ConfigRequest, joinedServer } from './config-request.ts';
import { apiPort, type Distribution } from './distribution.ts';
import { kubeadmConfig } from './kubeadm-config.ts';

const network = { type: 'string', pattern: '^[0-9a-f.:]+/[0-9]{1,3}$' };
const word = { type: 'string', minLength: 1, maxLength: 253, pattern: '^[A-Za-z0-9][A-Za-z0-9.:_-]*$' };

/** All parameters. Their names and meanings are those of the configuration file or the options of the programs. */
const parameters: Readonly<Record<string, JsonObject>> = {
  'cluster-cidr': { ...network, description: 'Network of the pods, by default 10.42.0.0/16. Cannot be changed later.' },
  'service-cidr': { ...network, description: 'Network of the services, by default 10.43.0.0/16. Cannot be changed later.' },
  'cluster-dns': { ...word, description: 'Address of the DNS service, within service-cidr. Cannot be changed later.' },
  'tls-san': { type: 'array', maxItems: 32, items: word, description: 'More names and addresses for the certificate of the API.' },
  disable: { type: 'array', maxItems: 32, items: word, description: 'Packaged parts that are not deployed. Cannot be changed later.' },
  'etcd-snapshot-schedule-cron': {
    type: 'string',
    maxLength: 64,
    pattern: '^[0-9A-Za-z*/, @-]+$',
    description: 'When snapshots are taken, by default every 12 hours.',
  },
  'etcd-snapshot-retention': { type: 'integer', minimum: 1, maximum: 1000, description: 'How many snapshots are kept, by default 5.' },
  'ignore-preflight-errors': { type: 'array', maxItems: 32, items: word, description: 'Checks of kubeadm whose errors are only warnings.' },
};

/** JSON schema of `parameters`. */
export const parametersSchema = (distribution: Distribution) => ({
  type: 'object',
  additionalProperties: false,
  properties: Object.fromEntries(distribution.parameters.map((name) => [name, parameters[name]!])),
});

/** Servers with different values of these form no cluster, and one that exists cannot change them. */
const fixed = ['cluster-cidr', 'service-cidr', 'cluster-dns', 'disable'] as const;

/** The fact that keeps the settings with which an instance was deployed. */
export const settingsFact = 'settings';

export function fixedSettings({ version, parameters }: AdapterInstance): string {
  return JSON.stringify({
    version,
    ...Object.fromEntries(fixed.flatMap((name) => (parameters[name] === undefined ? [] : [[name, parameters[name]]]))),
  });
}

const defaultPodNetwork = '10.42.0.0/16';

/** The network of pods with which an instance was deployed, whatever its parameters say by now. */
export function podNetworkOf({ instance, facts }: InstanceRequest): string {
  const kept = facts[settingsFact];
  const settings = kept === undefined ? instance.parameters : (JSON.parse(kept) as Kept);
  return (settings['cluster-cidr'] as string | undefined) ?? defaultPodNetwork;
}

type Kept = JsonObject & { readonly version: string };

/** Rejects changes that the running cluster cannot follow. */
export function checkUnchanged(instance: AdapterInstance, facts: Facts): void {
  const kept = facts[settingsFact];
  if (kept === undefined) return;
  const [before, now] = [JSON.parse(kept) as Kept, JSON.parse(fixedSettings(instance)) as Kept];
  if (before.version !== now.version)
    throw new AdapterProblem(
      'UpgradeNotSupported',
      `the instance runs ${before.version}; self-managed clusters are not upgraded in place, so deploy another instance for ${now.version}`,
    );
  for (const name of fixed)
    if (JSON.stringify(before[name]) !== JSON.stringify(now[name]))
      throw new AdapterProblem(
        'SettingNotChangeable',
        `${name} cannot change after the deployment; it was ${JSON.stringify(before[name] ?? 'the default')}`,
      );
}

/** The configuration file of a member. Placeholders stand for secrets. */
export function configOf(request: ConfigRequest): string {
  const { distribution, instance, member, servers } = request;
  if (distribution.program === 'kubeadm') return kubeadmConfig(request);
  const joins = joinedServer(request);
  const { parameters } = instance;
  const isServer = member.component === 'server';
  const common = {
    'node-name': member.node.name,
    'node-ip': member.node.address,
    'node-label': [`capstan.dev/member=${member.name}`],
    ...(joins && { server: `https://${joins.node.address}:${distribution.supervisorPort}` }),
  };
  if (!isServer) return yaml({ token: '${secret:agent-join-token}', ...common });
  const addresses = servers.map(({ node }) => node.address);
  const disabled = [...distribution.disabled, ...((parameters['disable'] as readonly string[] | undefined) ?? [])];
  const optional = ['cluster-cidr', 'service-cidr', 'cluster-dns', 'etcd-snapshot-schedule-cron', 'etcd-snapshot-retention'];
  return yaml({
    token: joins === undefined ? '${secret:token}' : '${secret:server-join-token}',
    'agent-token': '${secret:agent-token}',
    ...common,
    'tls-san': [...new Set([...addresses, ...((parameters['tls-san'] as readonly string[] | undefined) ?? [])])],
    'write-kubeconfig-mode': '0600',
    ...(distribution.needsClusterInit && joins === undefined && { 'cluster-init': true }),
    ...(disabled.length > 0 && { disable: [...new Set(disabled)] }),
    ...Object.fromEntries(optional.flatMap((name) => (parameters[name] === undefined ? [] : [[name, parameters[name]]]))),
  });
}

export const apiAddress = ({ node }: AdapterMember): string => `https://${node.address}:${apiPort}`;

/** Scalars are written as JSON, which is YAML too. */
function yaml(fields: Readonly<Record<string, unknown>>): string {
  const lines = Object.entries(fields).map(([name, value]) =>
    Array.isArray(value)
      ? [`${name}:`, ...value.map((one) => `  - ${JSON.stringify(one)}`)].join('\n')
      : `${name}: ${JSON.stringify(value)}`,
  );
  return `# Written by Capstan. Put settings of your own into config.yaml.d.\n${lines.join('\n')}\n`;
}
