import type { Metrics } from '@capstan/machinery';

/** Adds the metrics of the process, under the names that Prometheus' clients use. */
export function addProcessMetrics(metrics: Metrics): void {
  const began = Date.now() / 1000 - process.uptime();
  metrics.gauge('process_resident_memory_bytes', 'Resident memory.', { read: () => process.memoryUsage.rss() });
  metrics.gauge('process_cpu_seconds_total', 'Processor time, user and system.', {
    type: 'counter',
    read: () => {
      const { user, system } = process.cpuUsage();
      return (user + system) / 1e6;
    },
  });
  metrics.gauge('process_start_time_seconds', 'When the process started.', { read: () => Math.round(began) });
}
