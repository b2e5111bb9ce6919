import { join } from 'node:path';
import { type GpuReading, type NodeUnitDriver, type NodeUnitStatus, nodeUnitKind } from '@capstan/api';
import type { Client } from '@capstan/client';
import type { BackoffOptions } from '@capstan/machinery';
import { reopenSizedFolder, type SizeOptions } from '../disks/sized-folder.ts';
import { unitRoom } from '../disks/unit-room.ts';
import { partSender } from '../logs/send-part.ts';
import { LogSender } from '../logs/sender.ts';
import { StatusReports } from '../reporting/status-reports.ts';
import type { RoutedRequest } from '../requests/router.ts';
import { type Moment, momentNow } from '../time/moment.ts';
import type { UnitDriver } from './drivers/driver.ts';
import { openGroups } from './drivers/exec/groups.ts';
import { DriverRegistry } from './drivers/registry.ts';
import { contactFile, LastContact } from './engine/contact.ts';
import { UnitEngine } from './engine/engine.ts';
import { uploadRoom, uploadsIn } from './engine/removal.ts';
import { type DeviceSource, resolveRoom, type StorageFolders } from './engine/room.ts';
import { defaultTimes, type UnitTimes } from './engine/times.ts';
import { GuardProcesses } from './guards/guards.ts';
import { unitOutput } from './logs/unit-output.ts';
import { UnitRecords } from './records/records.ts';
import type { RememberedNames } from './records/remembered.ts';
import { watchUnits } from './reporting/unit-watch.ts';
import { openSecretStore, type SecretStore } from './secrets/store.ts';
import { unitHandlers } from './streams/handlers.ts';
import { serveUnitRoutes } from './streams/node-routes.ts';
import { UploadRooms } from './uploads/rooms.ts';
import { defaultUploadLimits, type UnpackLimits } from './uploads/unpack.ts';
import { UsageSampler } from './usage/usage.ts';

export interface UnitOptions {
  readonly drivers: readonly UnitDriver[];
  /** Whether units may run where nothing separates them from each other and from the node. */
  readonly allowUnisolated: boolean;
  /** The only container engine to use. */
  readonly engine?: 'podman' | 'docker';
  readonly times?: Partial<UnitTimes>;
  readonly uploadLimits?: UnpackLimits;
  /** In bytes: how much of the disk a unit may use for its uploads and for the layer of its container, at most. */
  readonly disk?: number;
}

export interface UnitRunnerOptions extends UnitOptions {
  /** For root:platform. */
  readonly client: Client;
  readonly node: string;
  readonly stateDirectory: string;
  /** The allocations after which this node was cleaned. */
  readonly cleaned: RememberedNames;
  readonly storages: StorageFolders;
  readonly gpus: DeviceSource & { readings(): readonly GpuReading[] };
  readonly backoff: BackoffOptions;
  readonly log: (line: string) => void;
}

interface Parts {
  readonly drivers: DriverRegistry;
  readonly contact: LastContact;
  readonly records: UnitRecords;
  readonly secrets: SecretStore;
  readonly reports: StatusReports<NodeUnitStatus>;
  readonly engine: UnitEngine;
  readonly usage: UsageSampler;
  readonly logs: LogSender;
  readonly room: SizeOptions | undefined;
  readonly rooms: UploadRooms;
}

/** Runs the NodeUnits of this machine. Their programs outlive it. */
export class UnitRunner implements AsyncDisposable {
  readonly #options: UnitRunnerOptions;
  readonly #parts: Parts;
  #isResumed = false;
  /** Serves the subresources of the Pods that show units. */
  readonly handlers: ReturnType<typeof unitHandlers>;

  private constructor(options: UnitRunnerOptions, parts: Parts) {
    const { records, engine } = parts;
    this.#options = options;
    this.#parts = parts;
    const uploads = {
      folder: (name: string) => records.folder(name),
      limits: options.uploadLimits ?? defaultUploadLimits,
      room: parts.room,
      rooms: parts.rooms,
    };
    this.handlers = unitHandlers({ engine, uploads });
  }

  static async open(options: UnitRunnerOptions): Promise<UnitRunner> {
    const { client, node, stateDirectory, storages, gpus, backoff, log } = options;
    const directory = join(stateDirectory, 'units');
    const times = { ...defaultTimes, ...options.times };
    const records = await UnitRecords.open(directory, log);
    const contact = await LastContact.open(contactFile(stateDirectory), await momentNow());
    const drivers = new DriverRegistry(options);
    const guards = new GuardProcesses({
      contact: contactFile(stateDirectory),
      folder: (name) => records.folder(name),
      times,
      groups: (await openGroups('capstan-units', process.getuid?.() === 0)).monitors,
      log,
    });
    const secrets = await openSecretStore(stateDirectory);
    const reports = new StatusReports<NodeUnitStatus>({
      kind: nodeUnitKind,
      words: { one: 'unit', many: 'units' },
      client,
      node,
      backoff,
      log,
    });
    const room = await unitRoom(options.disk);
    const rooms = new UploadRooms({ folder: (name) => records.folder(name), size: room });
    const engine = new UnitEngine({
      records,
      drivers,
      secrets,
      contact,
      guards,
      uploads: rooms,
      isCleaned: (allocation) => options.cleaned.has(allocation),
      resolve: async (record) => {
        await reopenSizedFolder(uploadRoom(records.folder(record.name)));
        return resolveRoom(record, {
          secrets: await secrets.get(record.name),
          devices: gpus,
          storages,
          uploads: uploadsIn(records.folder(record.name)),
        });
      },
      now: momentNow,
      times,
      report: (unit, status) => reports.report(unit, status),
      log,
    });
    const usage = new UsageSampler({ engine, readings: () => gpus.readings(), times });
    const logs = new LogSender({
      of: 'units',
      sources: () => unitOutput(engine, (name) => records.folder(name)),
      send: partSender(client),
      notice: () => `${new Date().toISOString()} stderr F [some output was lost before it could be sent]\n`,
      log,
      interval: times.logInterval,
      longestInterval: times.longestLogInterval,
    });
    return new UnitRunner(options, { room, rooms, engine, drivers, contact, records, secrets, reports, usage, logs });
  }

  /** For GPUNode.status. */
  get drivers(): NodeUnitDriver[] {
    return this.#parts.drivers.describe();
  }

  /** Whether a unit that is not over mounts a volume, as far as is known. */
  uses(volume: string): boolean {
    if (!this.#isResumed) return true;
    return [...this.#parts.engine.runs].some(
      ({ isFinal, record }) => !isFinal && record.spec.storages?.some(({ uid }) => uid === volume) === true,
    );
  }

  /** The control plane has answered a request that was sent at this time. */
  reached(at: Moment): void {
    this.#parts.contact.record(at);
  }

  /** Continues the units of the records, and follows those of the control plane until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { client, node, log } = this.#options;
    const { engine, reports, usage, logs } = this.#parts;
    await engine.resume();
    this.#isResumed = true;
    await Promise.all([watchUnits({ client, node, engine, reports, log }, signal), usage.run(signal), logs.run(signal)]);
  }

  /** Answers requests to the node itself that are about units; false if the request is for something else. */
  serve(request: RoutedRequest<{ kind: 'node'; path: string }>): Promise<void> | false {
    return serveUnitRoutes(request, this.#parts);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const { engine, rooms, reports, records } = this.#parts;
    await engine[Symbol.asyncDispose]();
    await rooms[Symbol.asyncDispose]();
    await reports[Symbol.asyncDispose]();
    await records[Symbol.asyncDispose]();
  }
}
