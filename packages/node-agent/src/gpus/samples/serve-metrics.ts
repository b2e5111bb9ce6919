import type { GpuMetricPoint, GpuNumbers, GpuReading, NodeGpuMetrics, NodeMetrics } from '@capstan/api';
import { type RoutedRequest, refuse } from '../../requests/router.ts';
import type { GpuMonitor } from '../monitor.ts';
import type { GpuPoint } from './history.ts';
import { rangeOf } from './range-query.ts';

export interface MetricsOptions {
  readonly node: string;
  readonly gpus: Pick<GpuMonitor, 'readings' | 'status' | 'range'>;
  readonly now: () => number;
}

/** In one response, over all GPUs: some 10 MB of JSON. */
const mostPoints = 50_000;

/** Serves `GET /node/metrics?from=&to=&step=&gpu=`. Returns false if the path is another. */
export function serveNodeMetrics(request: RoutedRequest<{ kind: 'node'; path: string }>, options: MetricsOptions): Promise<void> | false {
  return request.route.path === '/metrics' && answer(request, options);
}

async function answer(request: RoutedRequest, { node, gpus, now }: MetricsOptions): Promise<void> {
  const bad = (message: string): void => refuse(request, { code: 400, reason: 'BadRequest', message });
  if (request.method !== 'GET') return refuse(request, { code: 405, reason: 'MethodNotAllowed', message: 'expected the method GET' });
  const at = now();
  const range = rangeOf(request.query, at);
  if (typeof range === 'string') return bad(range);
  const wanted = new Set(request.query.getAll('gpu'));
  const cards = gpus.status().filter(({ uuid }) => wanted.size === 0 || wanted.has(uuid));
  const points = range === undefined ? 0 : Math.ceil((range.to - range.from) / range.step) * cards.length;
  if (points > mostPoints)
    return bad(`step: expected at most ${mostPoints} points for all GPUs together, found ${points}; use longer steps or name a GPU`);
  const readings = new Map(gpus.readings().map((reading) => [reading.uuid, reading]));
  const metrics: NodeMetrics = {
    node,
    at: new Date(at).toISOString(),
    gpus: cards.map(({ uuid, gpu, health }): NodeGpuMetrics => {
      const reading = readings.get(uuid);
      return {
        uuid,
        model: gpu?.model ?? '',
        health: health.state,
        ...(gpu !== undefined && { memoryBytes: gpu.memoryBytes }),
        ...(reading !== undefined && { latest: numbersOf(reading) }),
        ...(range !== undefined && { points: gpus.range(uuid, range).map(pointOf) }),
      };
    }),
  };
  request.respond(200, { 'content-type': 'application/json' }).end(JSON.stringify(metrics));
}

function numbersOf({ utilizationPercent, memoryUsedBytes, temperatureCelsius, powerWatts }: GpuReading): GpuNumbers {
  return {
    ...(utilizationPercent !== undefined && { utilizationPercent }),
    ...(memoryUsedBytes !== undefined && { memoryUsedBytes }),
    ...(temperatureCelsius !== undefined && { temperatureCelsius }),
    ...(powerWatts !== undefined && { powerWatts }),
  };
}

const pointOf = ({ at, ...numbers }: GpuPoint): GpuMetricPoint => ({ at: new Date(at).toISOString(), ...numbers });
