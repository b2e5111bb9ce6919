import { gpuHealthStates, type NodeGpuMetrics, type UnitUsage } from '@capstan/api';
import { type MetricLabels, Metrics } from '@capstan/machinery';

/** A node and the answers of its agent; undefined if there is none. */
export interface NodeNumbers {
  readonly node: string;
  readonly gpus: readonly NodeGpuMetrics[] | undefined;
  readonly units: readonly UnitUsage[] | undefined;
}

/** The unit that a node was told to run. */
export interface KnownUnit {
  /** The path of its workspace. */
  readonly workspace: string;
  readonly namespace: string;
  readonly name: string;
}

/** The unit of a NodeUnit on a node; undefined if the node was told of none. */
export type FindUnit = (node: string, nodeUnit: string) => KnownUnit | undefined;

/** The metrics of all nodes in the text format of Prometheus. */
export function exposition(nodes: readonly NodeNumbers[], find: FindUnit): string {
  const metrics = new Metrics();
  const gauge = (name: string, help: string, labels: MetricLabels, value: number | undefined): void => {
    if (value !== undefined) metrics.gauge(name, help, { labels, read: () => value });
  };
  for (const { node, gpus } of nodes)
    gauge('capstan_node_up', 'Whether the agent of the node answers.', { node }, gpus === undefined ? 0 : 1);
  for (const { node, gpus = [], units = [] } of nodes) {
    for (const gpu of gpus) addGpu(gauge, node, gpu);
    const models = new Map(gpus.map(({ uuid, model }) => [uuid, model]));
    for (const usage of units) {
      // The agent says which NodeUnit it means, and its object says whose it is.
      const unit = find(node, usage.name);
      if (unit !== undefined) addUnit(gauge, { node, unit, usage, models });
    }
  }
  return metrics.text();
}

type Gauge = (name: string, help: string, labels: MetricLabels, value: number | undefined) => void;

function addGpu(gauge: Gauge, node: string, { uuid, model, health, memoryBytes, latest = {} }: NodeGpuMetrics): void {
  const labels = { node, gpu: uuid, model };
  gauge('capstan_gpu_utilization_ratio', 'Share of the time in which the GPU computed.', labels, ratio(latest.utilizationPercent));
  gauge('capstan_gpu_memory_used_bytes', 'Memory of the GPU that is in use.', labels, latest.memoryUsedBytes);
  gauge('capstan_gpu_memory_total_bytes', 'Memory of the GPU.', labels, memoryBytes);
  gauge('capstan_gpu_temperature_celsius', 'Temperature of the GPU.', labels, latest.temperatureCelsius);
  gauge('capstan_gpu_power_watts', 'Power that the GPU draws.', labels, latest.powerWatts);
  for (const state of gpuHealthStates)
    gauge('capstan_gpu_health', 'Whether the health of the GPU is the state in the label.', { ...labels, state }, health === state ? 1 : 0);
}

interface UnitNumbers {
  readonly node: string;
  readonly unit: KnownUnit;
  readonly usage: UnitUsage;
  /** By UUID. */
  readonly models: ReadonlyMap<string, string>;
}

function addUnit(gauge: Gauge, { node, unit, usage, models }: UnitNumbers): void {
  const labels = { workspace: unit.workspace, namespace: unit.namespace, unit: unit.name, node };
  gauge('capstan_unit_cpu_cores', 'Processor cores that the unit uses.', labels, usage.cpuMillis / 1_000);
  gauge('capstan_unit_memory_bytes', 'Memory that the unit uses.', labels, usage.memoryBytes);
  for (const { uuid, utilizationPercent, memoryUsedBytes } of usage.gpus) {
    const ofGpu = { ...labels, gpu: uuid, model: models.get(uuid) ?? '' };
    gauge('capstan_unit_gpu_utilization_ratio', 'Share of the time in which a GPU of the unit computed.', ofGpu, ratio(utilizationPercent));
    gauge('capstan_unit_gpu_memory_used_bytes', 'Memory of a GPU of the unit that is in use.', ofGpu, memoryUsedBytes);
  }
}

const ratio = (percent: number | undefined): number | undefined =>
  percent === undefined ? undefined : Number((percent / 100).toPrecision(6));
