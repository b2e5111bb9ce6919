import type { Gpu, GpuProcess, GpuReading } from '@capstan/api';
import { mebibyte, readMeasure } from '../text/measure.ts';
import { FieldReader, known, times } from '../text/readings.ts';
import { throttleOfNames } from './throttle.ts';
import { childrenAt, type Element, textAt } from './xml.ts';

/** The readings in a `<gpu>` element. */
export function readingOf(element: Element, gpu: Gpu): GpuReading {
  const fields = new FieldReader((path) => textAt(element, path));
  const numbers = known({
    utilizationPercent: fields.amount('utilization/gpu_util', '%'),
    memoryUtilizationPercent: fields.amount('utilization/memory_util', '%'),
    memoryUsedBytes: times(fields.amount('fb_memory_usage/used', 'MiB'), mebibyte),
    temperatureCelsius: fields.number('temperature/gpu_temp', 'C'),
    memoryTemperatureCelsius: fields.number('temperature/memory_temp', 'C'),
    powerWatts: powerOf(element, fields),
    smClockMegahertz: fields.amount('clocks/sm_clock', 'MHz'),
    memoryClockMegahertz: fields.amount('clocks/mem_clock', 'MHz'),
  });
  return {
    uuid: gpu.uuid,
    ...numbers,
    throttle: throttleOfNames((name) => isActive(element, name)),
    unreadable: fields.unreadable,
    processes: childrenAt(element, 'processes/process_info').flatMap((process) => processOf(process, gpu)),
  };
}

/** Drivers before 535 have `power_readings/power_draw`. */
function powerOf(element: Element, fields: FieldReader): number | undefined {
  const paths = ['gpu_power_readings/average_power_draw', 'gpu_power_readings/power_draw', 'power_readings/power_draw'];
  const path = paths.find((one) => textAt(element, one) !== undefined);
  return path === undefined ? undefined : fields.amount(path, 'W');
}

/** Drivers before 535 call events throttling. */
function isActive(element: Element, name: string): boolean {
  return ['clocks_event_reasons/clocks_event_reason_', 'clocks_throttle_reasons/clocks_throttle_reason_'].some(
    (path) => textAt(element, path + name) === 'Active',
  );
}

/** Only processes that compute; the others draw on a screen. */
function processOf(element: Element, gpu: Gpu): GpuProcess[] {
  const pid = Number(textAt(element, 'pid'));
  if (!Number.isSafeInteger(pid) || pid <= 0 || !(textAt(element, 'type') ?? '').includes('C')) return [];
  const memory = readMeasure(textAt(element, 'used_memory'), 'MiB');
  const [gpuInstance, computeInstance] = ['gpu_instance_id', 'compute_instance_id'].map((path) => Number(textAt(element, path)));
  const migDevice = gpu.mig.devices.find((device) => device.gpuInstance === gpuInstance && device.computeInstance === computeInstance);
  return [
    {
      pid,
      name: (textAt(element, 'process_name') ?? '').slice(0, 256),
      ...(memory.kind === 'value' && { memoryBytes: memory.value * mebibyte }),
      ...(migDevice !== undefined && { migDevice: migDevice.uuid }),
    },
  ];
}
