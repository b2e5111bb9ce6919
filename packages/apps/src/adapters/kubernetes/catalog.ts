import type { NewApp } from '../../adapter/registration.ts';
import { type AdapterScript, exactScripts } from '../../adapter/scripts.ts';
import { artifactDirectory, type Distribution, launcher } from './distribution.ts';
import { placementSchema } from './placement.ts';
import { parametersSchema } from './settings.ts';

const promises = [
  'The nodes of your allocations become the members that the placement names.',
  'Servers start first, and agents join in order.',
  'A kubeconfig is available from the platform, without a login on a node.',
  'The platform reports the state and the health of the instance and of each member.',
];

const exclusions = [
  'Operation of the cluster: you own its workloads, add-ons and health.',
  'Upgrades in place.',
  'A dashboard.',
  'StorageClasses and persistent volumes.',
  'A stable address of the API for clients outside the platform.',
];

type Operations = NonNullable<NewApp['spec']['operations']>;

const operations: Operations = [
  {
    name: 'drain',
    title: 'Drain',
    scope: 'member',
    description: 'Moves the pods of the node elsewhere and keeps new ones away.',
    isDestructive: true,
  },
  {
    name: 'uncordon',
    title: 'Take pods again',
    scope: 'member',
    description: 'Undoes a drain that the platform has done.',
    isDestructive: false,
  },
  {
    name: 'snapshot',
    title: 'Save a snapshot',
    scope: 'instance',
    description: 'Saves the state of the cluster on one of its servers.',
    isDestructive: false,
    parameters: { type: 'object', properties: { name: { type: 'string', maxLength: 128, pattern: '^[A-Za-z0-9][A-Za-z0-9_.-]*$' } } },
  },
  {
    name: 'restore',
    title: 'Restore a snapshot',
    scope: 'instance',
    description:
      'Brings the cluster back to a snapshot, on the server that has it. Everything that was written since is lost. It works when no server answers.',
    isDestructive: true,
    parameters: {
      type: 'object',
      properties: { snapshot: { type: 'string', maxLength: 128, description: 'File name; the last snapshot of the platform if absent.' } },
    },
  },
  {
    name: 'rotate-certificates',
    title: 'Renew certificates',
    scope: 'instance',
    description: 'Renews the certificates of all members, one member after the other. Each is restarted.',
    isDestructive: false,
  },
];

export const snapshotOperations = new Set(['snapshot', 'restore']);

export const operationsOf = ({ hasSnapshots }: Distribution): Operations =>
  operations.filter(({ name }) => hasSnapshots || !snapshotOperations.has(name));

/** The entry of the catalog for a distribution. Its owner adds versions with the hashes of their files. */
export function appOf(distribution: Distribution, scripts: readonly AdapterScript[]): NewApp {
  const { program, displayName, version, services, artifacts, mostServers, configDirectory, configFile, dataDirectory } = distribution;
  const files = artifacts.filter(({ isRequired }) => isRequired).map(({ name }) => name);
  return {
    metadata: { name: program },
    spec: {
      displayName,
      description:
        `A Kubernetes cluster of ${program} on your own allocations: one server${mostServers > 1 ? ', or an odd number of them,' : ''} and any number of agents. You operate it. ` +
        `Versions need the files ${files.join(', ')} of the release as artifacts; nodes download nothing from elsewhere.`,
      support: 'self-managed',
      promises,
      exclusions,
      adapter: { builtIn: 'kubernetes' },
      versions: [{ name: version, isDefault: true }],
      placement: placementSchema,
      parameters: parametersSchema(distribution),
      components: [
        { name: 'server', title: 'Server', minimum: 1, maximum: mostServers },
        { name: 'agent', title: 'Agent', minimum: 0, maximum: 500 },
      ],
      operations: operationsOf(distribution),
      permitted: {
        scripts: exactScripts(scripts),
        paths: [configDirectory, configFile, dataDirectory, artifactDirectory(distribution), `/usr/local/bin/${program}`],
        services: [...new Set(Object.values(services))],
        commands: [launcher(distribution)],
      },
      access: ['kubeconfig', 'endpoint'],
    },
  };
}
