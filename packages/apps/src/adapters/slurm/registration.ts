import type { AdapterRegistration } from '../../adapter/registration.ts';
import { scriptsOf } from '../../adapter/scripts.ts';
import { slurmAdapter } from './adapter.ts';
import { slurmApp } from './app.ts';

const scripts = () => scriptsOf('slurm');

export const slurm: AdapterRegistration = { adapter: slurmAdapter, apps: () => [slurmApp(scripts())], scripts };
