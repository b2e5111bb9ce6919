/** The numbers of one GPU, from the metrics of all nodes. */
export interface Reading {
  readonly utilization?: number;
  readonly memoryUsed?: number;
  readonly memoryTotal?: number;
  readonly temperature?: number;
  readonly power?: number;
}

const fields: Readonly<Record<string, keyof Reading>> = {
  capstan_gpu_utilization_ratio: 'utilization',
  capstan_gpu_memory_used_bytes: 'memoryUsed',
  capstan_gpu_memory_total_bytes: 'memoryTotal',
  capstan_gpu_temperature_celsius: 'temperature',
  capstan_gpu_power_watts: 'power',
};

const line = /^(\w+)\{([^}]*)\} (\S+)/;
const gpuLabel = /(?:^|,)gpu="([^"]*)"/;

/** Reads the Prometheus text of all nodes. The uuid of a GPU is unique, so it is the key. */
export function readingsIn(text: string): ReadonlyMap<string, Reading> {
  const readings = new Map<string, { -readonly [K in keyof Reading]: Reading[K] }>();
  for (const one of text.split('\n')) {
    const [, name = '', labels = '', value] = line.exec(one) ?? [];
    const field = fields[name];
    const gpu = gpuLabel.exec(labels)?.[1];
    if (field === undefined || gpu === undefined) continue;
    const known = readings.get(gpu) ?? {};
    known[field] = Number(value);
    readings.set(gpu, known);
  }
  return readings;
}
