import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { GpuInventory, GpuStatus, NodeUnitStatus } from '@capstan/api';
import type { Moment } from '../../time/moment.ts';
import type { UnitDriver } from '../drivers/driver.ts';
import { DriverRegistry } from '../drivers/registry.ts';
import { LastContact } from '../engine/contact.ts';
import { UnitEngine } from '../engine/engine.ts';
import { uploadsIn } from '../engine/removal.ts';
import { type DeviceSource, resolveRoom } from '../engine/room.ts';
import type { UploadPlaces } from '../engine/run-context.ts';
import { defaultTimes, type UnitTimes } from '../engine/times.ts';
import type { UnitGuards } from '../guards/guards.ts';
import { UnitRecords } from '../records/records.ts';
import { MemorySecrets, type SecretStore } from '../secrets/store.ts';

export interface TestEngineOptions {
  readonly directory: string;
  readonly driver: UnitDriver;
  readonly now: () => Moment;
  readonly secrets?: SecretStore;
  readonly times?: Partial<UnitTimes>;
  readonly devices?: DeviceSource;
  readonly allowUnisolated?: boolean;
  readonly isCleaned?: (allocation: string) => boolean;
  readonly uploads?: UploadPlaces;
  /** For the folder of units and the times of the engine. By default, nothing is guarded. */
  readonly guards?: (directory: string, times: UnitTimes) => UnitGuards;
}

export interface TestEngine extends AsyncDisposable {
  readonly engine: UnitEngine;
  readonly records: UnitRecords;
  readonly contact: LastContact;
  readonly secrets: SecretStore;
  readonly lines: string[];
  /** All statuses of each unit, in order. */
  readonly reported: Map<string, NodeUnitStatus[]>;
  status(name: string): NodeUnitStatus | undefined;
}

export const quickTimes: UnitTimes = { ...defaultTimes, restartDelay: 0, longestRestartDelay: 20, retryDelay: 5, fenceInterval: 5 };

export const noGuards: UnitGuards = { arm: async () => {}, disarm: () => {}, keep: async () => {}, hasEnded: async () => false };

const noUploads: UploadPlaces = { begin: () => {}, end: async () => {} };

export const noDevices: DeviceSource = { status: (): GpuStatus[] => [], inventories: (): GpuInventory[] => [] };

/** An engine that has resumed, as an agent has it, without a control plane. */
export async function startEngine(options: TestEngineOptions): Promise<TestEngine> {
  const { directory, driver, secrets = new MemorySecrets(), devices = noDevices, allowUnisolated = false, guards } = options;
  const lines: string[] = [];
  const times = { ...quickTimes, ...options.times };
  const reported = new Map<string, NodeUnitStatus[]>();
  const now = async (): Promise<Moment> => options.now();
  const records = await UnitRecords.open(join(directory, 'units'), (line) => lines.push(line));
  const contact = await LastContact.open(join(directory, 'units', 'contact'), await now());
  const engine = new UnitEngine({
    records,
    drivers: new DriverRegistry({ drivers: [driver], allowUnisolated }),
    secrets,
    contact,
    guards: guards?.(join(directory, 'units'), times) ?? noGuards,
    uploads: options.uploads ?? noUploads,
    isCleaned: options.isCleaned ?? (() => false),
    resolve: async (record) =>
      resolveRoom(record, {
        secrets: await secrets.get(record.name),
        devices,
        storages: { pathOf: async (uid) => [join(directory, 'storages', uid)].find((path) => existsSync(path)) },
        uploads: uploadsIn(records.folder(record.name)),
      }),
    now,
    times,
    report: ({ name }, status) => {
      const all = reported.get(name) ?? [];
      all.push(structuredClone(status));
      reported.set(name, all);
    },
    log: (line) => lines.push(line),
  });
  await engine.resume();
  return {
    engine,
    records,
    contact,
    secrets,
    lines,
    reported,
    status: (name) => reported.get(name)?.at(-1),
    async [Symbol.asyncDispose]() {
      await engine[Symbol.asyncDispose]();
      await records[Symbol.asyncDispose]();
    },
  };
}
