import { type GPUUnit, gpuUnitKind } from '@capstan/api';
import { isQuantity } from '@capstan/machinery/objects';
import { WordsError, wordsIn } from './words.ts';

/** A unit as a person fills it in: texts that may not be valid yet. */
export interface UnitDraft {
  readonly name: string;
  readonly by: 'offering' | 'resources';
  readonly offering: string;
  readonly gpus: number;
  readonly model: string;
  readonly cpu: string;
  readonly memory: string;
  readonly nodes: number;
  readonly image: string;
  readonly command: string;
  readonly env: readonly { readonly name: string; readonly value: string }[];
  readonly ports: readonly { readonly name: string; readonly port: string }[];
  readonly mounts: readonly { readonly storage: string; readonly path: string; readonly readOnly: boolean }[];
  readonly restartPolicy: 'Never' | 'OnFailure' | 'Always';
  readonly maxDuration: string;
  readonly idleTimeout: string;
}

export const emptyDraft: UnitDraft = {
  name: '',
  by: 'offering',
  offering: '',
  gpus: 0,
  model: '',
  cpu: '1',
  memory: '1Gi',
  nodes: 1,
  image: '',
  command: '',
  env: [],
  ports: [],
  mounts: [],
  restartPolicy: 'Never',
  maxDuration: '',
  idleTimeout: '',
};

/** Messages by field, for those that are wrong. The server has the last word. */
export type DraftFaults = Readonly<Partial<Record<keyof UnitDraft, string>>>;

const namePattern = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;
const durationPattern = /^(\d+(\.\d+)?(ms|s|m|h))+$/;

export function faultsIn(draft: UnitDraft): DraftFaults {
  const faults: { -readonly [K in keyof UnitDraft]?: string } = {};
  if (!namePattern.test(draft.name)) faults.name = 'Lower-case letters, digits and hyphens, at most 63';
  if (draft.by === 'offering' && draft.offering === '') faults.offering = 'Choose an offering';
  if (draft.by === 'resources') {
    if (!isAmount(draft.cpu)) faults.cpu = 'Cores, such as 4 or 500m';
    if (!isAmount(draft.memory)) faults.memory = 'An amount, such as 16Gi';
  }
  if (draft.image.trim() === '' && draft.command.trim() === '') faults.command = 'A command, an image, or both';
  try {
    wordsIn(draft.command);
  } catch (error) {
    if (error instanceof WordsError) faults.command = `Check the quotes: ${error.message}`;
  }
  if (draft.env.some(({ name }) => !/^[A-Za-z_]\w*$/.test(name))) faults.env = 'Names consist of letters, digits and underscores';
  if (draft.ports.some(({ name, port }) => !namePattern.test(name) || !(Number(port) >= 1 && Number(port) <= 65535)))
    faults.ports = 'A port has a name in lower case and a number from 1 to 65535';
  if (draft.mounts.some(({ storage, path }) => storage === '' || !/^\/[^:]+$/.test(path)))
    faults.mounts = 'Choose a storage and an absolute path';
  for (const field of ['maxDuration', 'idleTimeout'] as const)
    if (draft[field] !== '' && !durationPattern.test(draft[field])) faults[field] = 'A length of time, such as 2h or 90m';
  return faults;
}

const isAmount = (text: string): boolean => text === '' || (isQuantity(text) && !text.startsWith('-'));

/** The object that the draft describes. */
export function unitOf(draft: UnitDraft, namespace: string): GPUUnit {
  const { name, by, offering, gpus, model, cpu, memory, nodes, image, env, ports, mounts, restartPolicy, maxDuration, idleTimeout } = draft;
  const command = wordsIn(draft.command);
  const gpu = gpus > 0 ? { count: gpus, ...(model !== '' && { model }) } : undefined;
  const spec = {
    ...(by === 'offering'
      ? { offering }
      : { resources: { ...(gpu && { gpu }), ...(cpu !== '' && { cpu }), ...(memory !== '' && { memory }) } }),
    ...(nodes > 1 && { nodes }),
    ...(image.trim() !== '' && { image: image.trim() }),
    ...(command.length > 0 && { command }),
    ...(env.length > 0 && { env: env.map(({ name: variable, value }) => ({ name: variable, value })) }),
    ...(ports.length > 0 && {
      ports: ports.map(({ name: port, port: number }) => ({ name: port, port: Number(number) })),
      access: { port: ports[0]!.name },
    }),
    ...(mounts.length > 0 && { mounts: mounts.map(({ storage, path, readOnly }) => ({ storage, path, ...(readOnly && { readOnly }) })) }),
    ...(restartPolicy !== 'Never' && { restartPolicy }),
    ...(maxDuration !== '' && { maxDuration }),
    ...(idleTimeout !== '' && { idleTimeout }),
  };
  return {
    apiVersion: `${gpuUnitKind.group}/${gpuUnitKind.version}`,
    kind: gpuUnitKind.kind,
    metadata: { name, namespace },
    // The server adds the defaults.
    spec: spec as unknown as GPUUnit['spec'],
  };
}
