import { join } from 'node:path';
import type { NodeUnitDriver } from '@capstan/api';
import type { Client } from '@capstan/client';
import type { BackoffOptions } from '@capstan/machinery';
import { type Moment, momentNow } from '../time/moment.ts';
import type { UnitDriver } from './drivers/driver.ts';
import { DriverRegistry } from './drivers/registry.ts';
import { LastContact } from './engine/contact.ts';
import { UnitEngine } from './engine/engine.ts';
import { uploadsIn } from './engine/removal.ts';
import { type DeviceSource, foldersIn, resolveRoom, type StorageFolders } from './engine/room.ts';
import { defaultTimes, type UnitTimes } from './engine/times.ts';
import { UnitRecords } from './records/records.ts';
import { UnitReports } from './reporting/unit-reports.ts';
import { watchUnits } from './reporting/unit-watch.ts';
import { openSecretStore } from './secrets/store.ts';

export interface UnitOptions {
  readonly drivers: readonly UnitDriver[];
  /** Whether units may run where nothing separates them from each other and from the node. */
  readonly allowUnisolated: boolean;
  readonly times?: Partial<UnitTimes>;
  readonly storages?: StorageFolders;
}

export interface UnitRunnerOptions extends UnitOptions {
  /** For root:platform. */
  readonly client: Client;
  readonly node: string;
  readonly stateDirectory: string;
  readonly gpus: DeviceSource;
  readonly backoff: BackoffOptions;
  readonly log: (line: string) => void;
}

/** Runs the NodeUnits of this machine. Their programs outlive it. */
export class UnitRunner implements AsyncDisposable {
  readonly #options: UnitRunnerOptions;
  readonly #drivers: DriverRegistry;
  readonly #contact: LastContact;
  readonly #records: UnitRecords;
  readonly #reports: UnitReports;
  readonly #engine: UnitEngine;

  private constructor(
    options: UnitRunnerOptions,
    parts: { engine: UnitEngine; drivers: DriverRegistry; contact: LastContact; records: UnitRecords; reports: UnitReports },
  ) {
    this.#options = options;
    this.#drivers = parts.drivers;
    this.#contact = parts.contact;
    this.#records = parts.records;
    this.#reports = parts.reports;
    this.#engine = parts.engine;
  }

  static async open(options: UnitRunnerOptions): Promise<UnitRunner> {
    const { client, node, stateDirectory, gpus, backoff, log } = options;
    const directory = join(stateDirectory, 'units');
    const records = await UnitRecords.open(directory, log);
    const contact = await LastContact.open(join(directory, 'contact'), await momentNow());
    const drivers = new DriverRegistry(options);
    const secrets = await openSecretStore(stateDirectory);
    const storages = options.storages ?? foldersIn(join(stateDirectory, 'storages'));
    const reports = new UnitReports({ client, node, backoff, log });
    const engine = new UnitEngine({
      records,
      drivers,
      secrets,
      contact,
      resolve: async (record) =>
        resolveRoom(record, {
          secrets: await secrets.get(record.name),
          devices: gpus,
          storages,
          uploads: uploadsIn(records.folder(record.name)),
        }),
      now: momentNow,
      times: { ...defaultTimes, ...options.times },
      report: (unit, status) => reports.report(unit, status),
      log,
    });
    return new UnitRunner(options, { engine, drivers, contact, records, reports });
  }

  /** For GPUNode.status. */
  get drivers(): NodeUnitDriver[] {
    return this.#drivers.describe();
  }

  /** The control plane has answered a request that was sent at this time. */
  reached(at: Moment): void {
    this.#contact.record(at);
  }

  /** Continues the units of the records, and follows those of the control plane until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { client, node, log } = this.#options;
    await this.#engine.resume();
    await watchUnits({ client, node, engine: this.#engine, reports: this.#reports, log }, signal);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#engine[Symbol.asyncDispose]();
    await this.#reports[Symbol.asyncDispose]();
    await this.#records[Symbol.asyncDispose]();
  }
}
