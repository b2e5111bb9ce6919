/** Where an inventory comes from: a vendor's tools, or a file that declares GPUs on a machine without any. */
export type GpuSource = 'nvidia' | 'amd' | 'declared';

/** A card as its driver describes it. These facts change rarely, so they are fit for `GPUNode.status`; see GpuReading for the rest. */
export interface Gpu {
  /** The vendor's identifier, such as `GPU-…`. It stays the same across reboots and slots. */
  readonly uuid: string;
  /** The short name that requests use: `H200`, `H100`, `A100-80GB`, `MI300X`. */
  readonly model: string;
  /** The vendor's full name of the product. */
  readonly productName: string;
  readonly memoryBytes: number;
  /** `0000:1b:00.0`, in lower case. Declared GPUs have none. */
  readonly pciBusId?: string;
  /** The number in `/dev/nvidia<n>`, or that of the render node on AMD. */
  readonly minor?: number;
  /** The device files that a program needs for this card alone. */
  readonly deviceFiles: readonly string[];
  readonly numaNode?: number;
  readonly mig: Mig;
  readonly ecc: Ecc;
  readonly repairs: MemoryRepairs;
  /** The action that the driver asks for. `unknown` with drivers that do not report one. */
  readonly recoveryAction: RecoveryAction;
}

export type RecoveryAction = 'none' | 'reset' | 'reboot' | 'drain-p2p' | 'drain-and-reset' | 'unknown';

export interface Mig {
  readonly mode: 'enabled' | 'disabled' | 'unsupported';
  /** Set while a change of the mode waits for a reset. */
  readonly pendingMode?: 'enabled' | 'disabled';
  readonly devices: readonly MigDevice[];
}

export interface MigDevice {
  /** `MIG-…`. */
  readonly uuid: string;
  /** `3g.40gb`. */
  readonly profile: string;
  readonly memoryBytes: number;
  /** The uuid of the card. */
  readonly parent: string;
  readonly gpuInstance: number;
  readonly computeInstance: number;
}

/** Counters since the driver was loaded (volatile) and in the card's lifetime. Undefined if the card does not count. */
export interface Ecc {
  readonly mode: 'enabled' | 'disabled' | 'unsupported';
  readonly volatile?: EccCounts;
  readonly lifetime?: EccCounts;
  /** The vendor's limit for uncorrectable errors on the chip was passed: the card should be replaced. */
  readonly sramThresholdExceeded?: boolean;
}

export interface EccCounts {
  readonly correctable: number;
  readonly uncorrectable: number;
}

/** Memory that the card has taken out of use, and repairs that wait for a reset or have failed. */
export interface MemoryRepairs {
  readonly remappedRows?: number;
  readonly retiredPages?: number;
  readonly pending: boolean;
  readonly failed: boolean;
}

/** A card that the driver knows and cannot talk to. */
export interface UnreachableGpu {
  readonly pciBusId: string;
  readonly why: string;
}

/** Cards that reach each other without PCIe. Every pair in the group is connected. */
export interface LinkGroup {
  readonly kind: 'NVLink' | 'XGMI';
  readonly gpus: readonly string[];
  /** The fewest links between two cards of the group, if the vendor counts them. */
  readonly links?: number;
}

export interface GpuInventory {
  readonly source: GpuSource;
  readonly driverVersion?: string;
  readonly runtime?: { readonly name: 'CUDA' | 'ROCm'; readonly version: string };
  readonly gpus: readonly Gpu[];
  readonly unreachable: readonly UnreachableGpu[];
  readonly linkGroups: readonly LinkGroup[];
}

/** The current readings of a card. A field that the card does not report is absent. */
export interface GpuReading {
  readonly uuid: string;
  readonly utilizationPercent?: number;
  readonly memoryUtilizationPercent?: number;
  readonly memoryUsedBytes?: number;
  readonly temperatureCelsius?: number;
  readonly memoryTemperatureCelsius?: number;
  readonly powerWatts?: number;
  readonly smClockMegahertz?: number;
  readonly memoryClockMegahertz?: number;
  /** Why the clocks are below their maximum. An idle card is not throttled. */
  readonly throttle: readonly ThrottleReason[];
  /** Fields for which the driver returned an error instead of a value. */
  readonly unreadable: readonly string[];
  readonly processes: readonly GpuProcess[];
}

export type ThrottleReason =
  | 'applications-clocks'
  | 'software-power-cap'
  | 'hardware-slowdown'
  | 'hardware-thermal'
  | 'hardware-power-brake'
  | 'software-thermal'
  | 'sync-boost'
  | 'display-clocks'
  | 'other';

/** A process that computes on the card. */
export interface GpuProcess {
  readonly pid: number;
  readonly name?: string;
  readonly memoryBytes?: number;
  readonly utilizationPercent?: number;
  /** The MIG device that it runs on. */
  readonly migDevice?: string;
}

/** All that one tool said at one time. */
export interface GpuReport extends GpuInventory {
  /** Milliseconds since 1970. */
  readonly observedAt: number;
  readonly readings: readonly GpuReading[];
}

export const gpuHealthStates = ['Healthy', 'Degraded', 'Failed', 'Missing', 'Unknown'] as const;
export type GpuHealthState = (typeof gpuHealthStates)[number];

/** `Degraded` cards work and need attention; `Failed` and `Missing` ones must get no work; nothing is known of `Unknown` ones. */
export interface GpuHealth {
  readonly state: GpuHealthState;
  /** A word for programs, such as `RowRemapFailed` or `Xid79`. */
  readonly reason: string;
  /** A sentence for people, which names the card. */
  readonly message: string;
  /** The time of the last change of the state, in milliseconds since 1970. */
  readonly since: number;
}

/** A card in `GPUNode.status`, with its health. Missing cards stay in the list. */
export interface GpuStatus {
  readonly uuid: string;
  readonly pciBusId?: string;
  readonly health: GpuHealth;
  /** Absent if the card has never been read. */
  readonly gpu?: Gpu;
}
