/** The most that a workspace and everything below it may have. Absent amounts are not limited. */
export interface QuotaLimits {
  /** GPUs and MIG instances of all models. */
  readonly gpus?: number;
  /** By model. */
  readonly models?: Readonly<Record<string, number>>;
  /** The memory of all GPUs together, in bytes. */
  readonly gpuMemory?: number;
}

/** The amounts that an allocation has, or asks for. */
export interface QuotaAmount {
  /** Undefined as long as any will do; check again when it is known. */
  readonly model: string | undefined;
  readonly gpus: number;
  /** Of all of its GPUs together, in bytes. */
  readonly gpuMemory: number;
}

/** A limit that an allocation would exceed. */
export interface QuotaRefusal {
  /** The path of the workspace whose limit it is. */
  readonly workspace: string;
  readonly resource: 'gpus' | 'model' | 'gpuMemory';
  readonly limit: number;
  readonly used: number;
  readonly asked: number;
  /** More than the limit was asked for, so that waiting does not help. */
  readonly isPermanent: boolean;
  readonly message: string;
}
