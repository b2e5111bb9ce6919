import { type App, appKind, newObject } from '@capstan/api';
import { expect, test } from 'vitest';
import type { AdapterProbe, InstanceRequest } from '../adapter/contract.ts';
import type { FoundAdapter } from '../adapter/finding.ts';
import { slurmAdapter } from '../adapters/slurm/adapter.ts';
import { slurm } from '../adapters/slurm/registration.ts';
import { pretendCluster, pretendRequest } from '../adapters/slurm/testing/cluster.ts';
import { Memory } from './memory.ts';
import { type ProbePlace, probesOf } from './probes.ts';

const [entry] = slurm.apps();
const app = newObject(appKind, entry!) as App;
const hashes = new Map(slurm.scripts().map(({ name, sha256 }) => [name, sha256]));
const request = (settings = {}): InstanceRequest => pretendRequest(pretendCluster(), { type: 'deploy' }, settings);
const place = (more: Partial<ProbePlace> = {}): ProbePlace => ({
  instance: 'i',
  app,
  request,
  adapter: () => slurmAdapter as unknown as FoundAdapter,
  answer: undefined,
  hashOf: (name) => hashes.get(name),
  memory: new Memory(),
  ...more,
});

test('follow the instance: the probe of a controller looks at the accounting once there is one', () => {
  const memory = new Memory();
  expect(probesOf(place({ memory }))('lab-c1')).toMatchObject({ script: 'slurm-probe', arguments: ['controller', 'c1', 'no'] });
  const later = place({ memory, request: () => request({ accounting: true }) });
  expect(probesOf(later)('lab-c1')).toMatchObject({ arguments: ['controller', 'c1', 'yes'] });
});

test('follow the script, and are none if the App permits another one', () => {
  expect(probesOf(place())('lab-c1')?.sha256).toBe(hashes.get('slurm-probe'));
  expect(probesOf(place({ hashOf: () => 'e'.repeat(64) }))('lab-c1')).toBeUndefined();
});

test('stay as they were while their adapter cannot be asked', () => {
  const memory = new Memory();
  const wanted: AdapterProbe = { script: 'slurm-probe', arguments: ['x'], every: '10s' };
  const web = (answers: Readonly<Record<string, AdapterProbe>>) =>
    ({ probe: ({ component }: { readonly component: string }) => answers[component] }) as unknown as FoundAdapter;
  expect(probesOf(place({ memory, adapter: () => web({ controller: wanted }) }))('lab-c1')).toMatchObject({ arguments: ['x'] });
  expect(probesOf(place({ memory, adapter: () => web({}) }))('lab-c1')).toMatchObject({ arguments: ['x'] });
  expect(probesOf(place({ memory, adapter: () => web({}) }))('lab-g1')).toBeUndefined();
});
