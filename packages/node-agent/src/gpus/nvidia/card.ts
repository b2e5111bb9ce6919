import type { Ecc, EccCounts, Gpu, MemoryRepairs, Mig, MigDevice, RecoveryAction, UnreachableGpu } from '@capstan/api';
import { excerpt, GpuError } from '../errors.ts';
import { mebibyte, normalBusId, readMeasure } from '../text/measure.ts';
import { modelOf } from '../text/model.ts';
import { known } from '../text/readings.ts';
import type { MigNames } from './list.ts';
import { childAt, childrenAt, type Element, textAt } from './xml.ts';

/** A `<gpu>` element as a card. A card that the driver knows by its bus only, because it cannot read the rest, is unreachable. */
export function gpuOf(element: Element, migNames: MigNames | undefined): Gpu | UnreachableGpu {
  const pciBusId = normalBusId(textAt(element, 'pci/pci_bus_id') ?? element.attributes.get('id') ?? '');
  if (pciBusId === undefined) throw new GpuError('Malformed', 'expected the PCI bus id of a GPU, found none');
  const uuid = textAt(element, 'uuid') ?? '';
  const productName = textAt(element, 'product_name') ?? '';
  const memory = readMeasure(textAt(element, 'fb_memory_usage/total'), 'MiB');
  if (!/^GPU-[0-9a-f-]{8,64}$/i.test(uuid)) return { pciBusId, why: `its uuid is "${excerpt(uuid)}"` };
  if (memory.kind !== 'value') return { pciBusId, why: `its memory is "${excerpt(textAt(element, 'fb_memory_usage/total') ?? '')}"` };
  const minor = count(element, 'minor_number');
  return {
    uuid,
    model: modelOf(productName),
    productName,
    memoryBytes: memory.value * mebibyte,
    pciBusId,
    ...(minor !== undefined && { minor }),
    deviceFiles: minor === undefined ? [] : [`/dev/nvidia${minor}`],
    mig: migOf(element, { parent: uuid, names: migNames?.get(uuid) }),
    ecc: eccOf(element),
    repairs: repairsOf(element),
    recoveryAction: recoveryActionOf(textAt(element, 'gpu_recovery_action')),
  };
}

/** Undefined if the card does not count, or the count cannot be read. */
function count(element: Element, path: string): number | undefined {
  const measure = readMeasure(textAt(element, path), '');
  return measure.kind === 'value' && measure.value >= 0 ? measure.value : undefined;
}

function mode(text: string | undefined): 'enabled' | 'disabled' | 'unsupported' {
  return text === 'Enabled' ? 'enabled' : text === 'Disabled' ? 'disabled' : 'unsupported';
}

interface MigContext {
  readonly parent: string;
  readonly names: ReadonlyMap<number, { readonly uuid: string; readonly profile: string }> | undefined;
}

function migOf(element: Element, context: MigContext): Mig {
  const current = mode(textAt(element, 'mig_mode/current_mig'));
  const pending = mode(textAt(element, 'mig_mode/pending_mig'));
  return {
    mode: current,
    ...(pending !== 'unsupported' && pending !== current && { pendingMode: pending }),
    devices: childrenAt(element, 'mig_devices/mig_device').map((device) => migDeviceOf(device, context)),
  };
}

function migDeviceOf(element: Element, { parent, names }: MigContext): MigDevice {
  const index = count(element, 'index') ?? -1;
  const gpuInstance = count(element, 'gpu_instance_id');
  const computeInstance = count(element, 'compute_instance_id');
  const memory = readMeasure(textAt(element, 'fb_memory_usage/total'), 'MiB');
  if (gpuInstance === undefined || computeInstance === undefined || memory.kind !== 'value') {
    throw new GpuError('Malformed', `expected the instances and the memory of MIG device ${index} of ${parent}, found none`);
  }
  const name = names?.get(index);
  if (name === undefined) throw new GpuError('Incomplete', `nvidia-smi -q has MIG device ${index} of ${parent} and nvidia-smi -L has not`);
  return { ...name, memoryBytes: memory.value * mebibyte, parent, gpuInstance, computeInstance };
}

function eccOf(element: Element): Ecc {
  const volatile = countsOf(childAt(element, 'ecc_errors/volatile'));
  const lifetime = countsOf(childAt(element, 'ecc_errors/aggregate'));
  const exceeded = textAt(element, 'ecc_errors/aggregate/sram_threshold_exceeded');
  return {
    mode: mode(textAt(element, 'ecc_mode/current_ecc')),
    ...known({ volatile, lifetime }),
    ...(exceeded !== undefined && { sramThresholdExceeded: exceeded === 'Yes' }),
  };
}

/** All counters of correctable errors, and all of uncorrectable ones; their names differ between generations of cards. */
function countsOf(element: Element | undefined): EccCounts | undefined {
  if (element === undefined) return undefined;
  const sum = (kind: RegExp): number | undefined => {
    const counters = element.children.filter(({ name }) => kind.test(name)).map(({ name }) => count(element, name));
    return counters.every((counter) => counter === undefined) ? undefined : counters.reduce<number>((all, one) => all + (one ?? 0), 0);
  };
  const correctable = sum(/^(?:sram|dram)_correctable/);
  const uncorrectable = sum(/^(?:sram|dram)_uncorrectable/);
  return correctable === undefined && uncorrectable === undefined
    ? undefined
    : { correctable: correctable ?? 0, uncorrectable: uncorrectable ?? 0 };
}

function repairsOf(element: Element): MemoryRepairs {
  const says = (path: string): boolean => textAt(element, path) === 'Yes';
  const total = (paths: readonly string[]): number | undefined => {
    const counts = paths.map((path) => count(element, path));
    return counts.every((one) => one === undefined) ? undefined : counts.reduce<number>((all, one) => all + (one ?? 0), 0);
  };
  const remappedRows = total(['remapped_rows/remapped_row_corr', 'remapped_rows/remapped_row_unc']);
  const retiredPages = total([
    'retired_pages/multiple_single_bit_retirement/retired_count',
    'retired_pages/double_bit_retirement/retired_count',
  ]);
  return {
    ...known({ remappedRows, retiredPages }),
    pending: [
      'remapped_rows/remapped_row_pending',
      'retired_pages/pending_retirement',
      'ecc_errors/channel_repair_pending',
      'ecc_errors/tpc_repair_pending',
    ].some(says),
    failed: ['remapped_rows/remapped_row_failure', 'ecc_errors/unrepairable_memory'].some(says),
  };
}

/** From `None`, `Reset` or `GPU Reset Required`, `Node Reboot Required`, `Drain P2P` and `Drain and Reset`. */
export function recoveryActionOf(text: string | undefined): RecoveryAction {
  if (text === undefined) return 'unknown';
  if (/^none$/i.test(text)) return 'none';
  if (/drain.{0,5}p2p/i.test(text)) return 'drain-p2p';
  if (/drain.{0,5}reset/i.test(text)) return 'drain-and-reset';
  if (/reboot/i.test(text)) return 'reboot';
  return /reset/i.test(text) ? 'reset' : 'unknown';
}
