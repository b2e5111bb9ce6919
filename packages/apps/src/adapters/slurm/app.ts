import type { NewApp } from '../../adapter/registration.ts';
import { type AdapterScript, exactScripts } from '../../adapter/scripts.ts';
import { allPackages } from './packages.ts';
import { serviceNames } from './services.ts';

const allocation = { type: 'string', format: 'allocation', minLength: 1, maxLength: 253 };
/** A plan has a step for each in which it learns of all others, so it grows with the square of their number. */
const mostNodes = 256;

export function slurmApp(scripts: readonly AdapterScript[]): NewApp {
  return {
    metadata: { name: 'slurm' },
    spec: {
      displayName: 'Slurm',
      description: 'A Slurm cluster on bare machines: a controller, nodes that run jobs with GPUs, and a machine to log in to.',
      support: 'self-managed',
      promises: [
        'Jobs survive a restart of the controller.',
        'A node with a GPU that is out of order is drained, unless more than a third of the members, and more than one, is unhealthy.',
        'Drains that others have set are never lifted.',
      ],
      exclusions: ['Shared file systems: homes are on the disks of the members.', 'Several controllers.'],
      adapter: { builtIn: 'slurm' },
      // Slurm of the operating system of the members: 22.05 of Debian 12, 24.11 of Debian 13.
      versions: [{ name: 'debian', isDefault: true }],
      placement: {
        type: 'object',
        required: ['controller_allocation_id'],
        properties: {
          controller_allocation_id: { ...allocation, description: 'The machine of the controller.' },
          compute_allocation_ids: { type: 'array', items: allocation, maxItems: mostNodes, description: 'The machines that run jobs.' },
          login_allocation_id: { ...allocation, description: 'The machine that users log in to; that of the controller if absent.' },
        },
      },
      parameters: {
        type: 'object',
        properties: {
          partition: { type: 'string', pattern: '^[A-Za-z0-9_-]{1,32}$', default: 'gpu', description: 'Name of the partition.' },
          users: {
            type: 'array',
            maxItems: 60,
            description: 'Users, who get an account with the same uid on all members.',
            items: {
              type: 'object',
              required: ['name', 'uid'],
              properties: {
                name: { type: 'string', pattern: '^[a-z_][a-z0-9_-]{0,30}$' },
                uid: { type: 'integer', minimum: 1000, maximum: 60_000 },
              },
            },
          },
          accounting: { type: 'boolean', default: false, description: 'Keep records of jobs in a database on the controller.' },
          confinement: {
            type: 'string',
            enum: ['cgroup', 'none'],
            default: 'cgroup',
            description: 'Whether jobs get only the cores, memory and GPUs that they ask for, which needs control groups on the nodes.',
          },
          drain_timeout: {
            type: 'string',
            pattern: '^[0-9]+(s|m|h)$',
            default: '1h',
            description: 'How long a node that is removed may take to finish its jobs.',
          },
        },
      },
      components: [
        { name: 'controller', title: 'Controller', minimum: 1, maximum: 1 },
        { name: 'compute', title: 'Node', maximum: mostNodes },
        { name: 'login', title: 'Login', maximum: 1 },
      ],
      operations: [
        {
          name: 'drain',
          title: 'Drain',
          scope: 'member',
          description: 'The node takes no new jobs.',
          parameters: {
            type: 'object',
            properties: {
              reason: { type: 'string', maxLength: 128, description: 'Shown by sinfo -R.' },
              wait: { type: 'boolean', default: false, description: 'Wait until its jobs have ended.' },
            },
          },
        },
        {
          name: 'undrain',
          title: 'Take jobs again',
          scope: 'member',
          description: 'Lifts a drain that was set here.',
          parameters: {
            type: 'object',
            properties: { force: { type: 'boolean', default: false, description: 'Also lift a drain that somebody else has set.' } },
          },
        },
        {
          name: 'restart-controller',
          title: 'Restart the controller',
          scope: 'instance',
          description: 'Jobs go on meanwhile, and new ones wait.',
        },
      ],
      permitted: {
        scripts: exactScripts(scripts),
        paths: ['/etc/slurm/', '/etc/munge/munge.key'],
        packages: [...allPackages],
        services: [...serviceNames],
      },
      access: ['shell', 'endpoint'],
    },
  };
}
