export { GpuError, type GpuErrorCode } from './gpus/errors.ts';
export type { ExpectedGpu, TrackerOptions } from './gpus/health/tracker.ts';
export { GpuMonitor, type GpuMonitorOptions } from './gpus/monitor.ts';
export type { Aggregate, GpuPoint, ProcessSample, Range } from './gpus/samples/history.ts';
export { describeXid, type Xid, type XidClass } from './gpus/xid/table.ts';
