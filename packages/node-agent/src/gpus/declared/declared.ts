import { createHash } from 'node:crypto';
import type { Gpu, GpuReport, LinkGroup } from '@capstan/api';
import { CodecError, fieldsOf, isObject, parseQuantity, parseYaml, QuantityError, scaledValue } from '@capstan/machinery';
import { excerpt, GpuError } from '../errors.ts';

/** The most GPUs of a declared machine; more is a mistake. */
const maxGpus = 64;

export interface Declaration {
  /** The text of the file, YAML or JSON. */
  readonly text: string;
  /** The name of the machine: it makes the uuids unique in the fleet and the same after every start. */
  readonly machine: string;
  readonly observedAt: number;
}

/**
 * The GPUs of a machine that has none, for tests and demonstrations:
 *
 *     gpus:
 *       - model: H100
 *         count: 8
 *         memory: 80Gi
 *         linked: true
 */
export function parseDeclaration({ text, machine, observedAt }: Declaration): GpuReport {
  const gpus: Gpu[] = [];
  const linkGroups: LinkGroup[] = [];
  for (const entry of entriesOf(text)) {
    const { model, count, memoryBytes, isLinked } = readEntry(entry);
    if (gpus.length + count > maxGpus) throw new GpuError('Malformed', `expected at most ${maxGpus} declared GPUs, found more`);
    const made = Array.from({ length: count }, (_, index) =>
      declaredGpu({ model, memoryBytes, uuid: uuidOf(machine, gpus.length + index) }),
    );
    gpus.push(...made);
    if (isLinked && made.length > 1) linkGroups.push({ kind: 'NVLink', gpus: made.map(({ uuid }) => uuid) });
  }
  return {
    source: 'declared',
    gpus,
    unreachable: [],
    linkGroups,
    observedAt,
    readings: gpus.map(({ uuid }) => ({ uuid, throttle: [], unreadable: [], processes: [] })),
  };
}

function entriesOf(text: string): readonly unknown[] {
  let parsed: unknown;
  try {
    parsed = parseYaml(text);
  } catch (cause) {
    if (!(cause instanceof CodecError)) throw cause;
    throw new GpuError('Malformed', `expected YAML or JSON in the file of declared GPUs, found ${excerpt(cause.message)}`, { cause });
  }
  const list = isObject(parsed) ? parsed['gpus'] : undefined;
  if (!Array.isArray(list)) throw new GpuError('Malformed', 'expected a list named gpus in the file of declared GPUs, found none');
  return list;
}

function readEntry(entry: unknown): { model: string; count: number; memoryBytes: number; isLinked: boolean } {
  const { model, count = 1, memory = '80Gi', linked = false } = fieldsOf(entry);
  if (typeof model !== 'string' || !/^[A-Za-z0-9][A-Za-z0-9.-]{0,62}$/.test(model)) {
    throw new GpuError(
      'Malformed',
      `expected the model of a declared GPU, such as H100, found ${excerpt(JSON.stringify(model) ?? 'none')}`,
    );
  }
  if (typeof count !== 'number' || !Number.isInteger(count) || count < 0 || count > maxGpus) {
    throw new GpuError('Malformed', `expected a count of ${model} from 0 to ${maxGpus}, found ${excerpt(JSON.stringify(count))}`);
  }
  if (typeof linked !== 'boolean')
    throw new GpuError('Malformed', `expected linked of ${model} to be true or false, found ${excerpt(String(linked))}`);
  return { model, count, memoryBytes: bytesOf(memory, model), isLinked: linked };
}

function bytesOf(memory: unknown, model: string): number {
  try {
    const bytes = typeof memory === 'string' || typeof memory === 'number' ? Number(scaledValue(parseQuantity(memory))) : 0;
    if (Number.isSafeInteger(bytes) && bytes > 0) return bytes;
  } catch (error) {
    if (!(error instanceof QuantityError)) throw error;
  }
  throw new GpuError('Malformed', `expected the memory of ${model} as a quantity such as 80Gi, found ${excerpt(JSON.stringify(memory))}`);
}

function declaredGpu({ model, memoryBytes, uuid }: { model: string; memoryBytes: number; uuid: string }): Gpu {
  return {
    uuid,
    model,
    productName: `Declared ${model}`,
    memoryBytes,
    deviceFiles: [],
    mig: { mode: 'unsupported', devices: [] },
    ecc: { mode: 'unsupported' },
    repairs: { pending: false, failed: false },
    recoveryAction: 'none',
  };
}

/** The same for the same machine and position. The word in it says that no such card exists. */
function uuidOf(machine: string, position: number): string {
  const hash = createHash('sha256')
    .update(JSON.stringify([machine, position]))
    .digest('hex');
  return `GPU-declared-${hash.slice(0, 8)}-${hash.slice(8, 12)}-${hash.slice(12, 24)}`;
}
