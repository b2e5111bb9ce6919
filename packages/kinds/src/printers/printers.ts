import type { TablePrinter } from '../strategy.ts';
import { accessPrinters } from './access.ts';
import { autoscalingPrinters } from './autoscaling.ts';
import { printer } from './columns.ts';
import { corePrinters } from './core.ts';
import { eventPrinters } from './event.ts';
import { networkingPrinters } from './networking.ts';
import { policyPrinters } from './policy.ts';
import { storagePrinters } from './storage.ts';
import { workloadPrinters } from './workloads.ts';

/** Used for kinds without their own printer. */
export const defaultPrinter: TablePrinter = printer('!Name, Created At:d', ({ object, name }) => [
  name,
  object.metadata.creationTimestamp ?? null,
]);

/** Printers by `group/resource`; the core group is empty. */
export const printers: ReadonlyMap<string, TablePrinter> = new Map([
  ...corePrinters,
  ...workloadPrinters,
  ...storagePrinters,
  ...networkingPrinters,
  ...autoscalingPrinters,
  ...policyPrinters,
  ...eventPrinters,
  ...accessPrinters,
]);
