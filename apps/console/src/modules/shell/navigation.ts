import type { IconName } from '../../components/icon.tsx';

/** The pages of a workspace, as the navigation and the command palette list them. */
export interface Destination {
  readonly label: string;
  readonly to: string;
  readonly icon: IconName;
  /** Only for owners of the platform. */
  readonly isForOwners?: boolean;
  /** Further words by which the palette finds it. */
  readonly words?: string;
}

export const destinations: readonly (readonly Destination[])[] = [
  [{ label: 'Home', to: '/w/$workspace', icon: 'home', words: 'attention active overview' }],
  [
    { label: 'GPU units', to: '/w/$workspace/units', icon: 'unit', words: 'jobs training programs run' },
    { label: 'Apps', to: '/w/$workspace/apps', icon: 'app', words: 'slurm kubernetes clusters instances' },
    { label: 'Catalog', to: '/w/$workspace/catalog', icon: 'catalog', words: 'apps deploy slurm kubernetes' },
    { label: 'Storage', to: '/w/$workspace/storages', icon: 'storage', words: 'volumes files data' },
    { label: 'Allocations', to: '/w/$workspace/allocations', icon: 'allocation', words: 'queue orders offerings waiting' },
  ],
  [
    { label: 'Fleet', to: '/w/$workspace/fleet', icon: 'fleet', words: 'nodes machines gpus heat', isForOwners: true },
    { label: 'Tenancy', to: '/w/$workspace/tenancy', icon: 'tenancy', words: 'workspaces members quotas usage audit' },
    { label: 'API', to: '/w/$workspace/api', icon: 'api', words: 'explorer kinds yaml kubectl' },
  ],
];
