import type { AdapterRegistration } from '../adapter/registration.ts';
import { kubernetesRegistration } from './kubernetes/registration.ts';
import { slurm } from './slurm/registration.ts';

/** The adapters that are a part of Capstan. */
export const builtInAdapters: readonly AdapterRegistration[] = [slurm, kubernetesRegistration];
