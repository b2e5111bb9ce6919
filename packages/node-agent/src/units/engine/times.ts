/** In milliseconds. */
export interface UnitTimes {
  /** Before the first restart in a row, doubled for each further one, up to the second. */
  readonly restartDelay: number;
  readonly longestRestartDelay: number;
  /** A program that ran for so long is well: the next delay is the first again. */
  readonly wellAfter: number;
  /** Between two attempts of something that may work later, doubled up to the delay of restarts. */
  readonly retryDelay: number;
  /** How long a unit waits for its files. */
  readonly uploadDeadline: number;
  /** How long logs are kept after a unit was removed. */
  readonly logRetention: number;
  /** Between two looks at the time since the last contact with the control plane. */
  readonly fenceInterval: number;
  /** How long after the agent, with its grace, has to have ended a unit its guard does it: at most a third of the margin of the control plane. */
  readonly guardMargin: number;
  /** Between two looks of a guard, and between two looks of the agent at the guard. */
  readonly guardInterval: number;
  /** Between two looks at the use of resources. */
  readonly usageInterval: number;
  /** Between two looks at the output that the control plane has not got, and between them at most while it takes none. */
  readonly logInterval: number;
  readonly longestLogInterval: number;
  /** Idleness is reported once it has lasted for so long, or for the `idleTimeout` of its unit if that is shorter. */
  readonly idleAfter: number;
}

export const defaultTimes: UnitTimes = {
  restartDelay: 10_000,
  longestRestartDelay: 300_000,
  wellAfter: 600_000,
  retryDelay: 2_000,
  uploadDeadline: 600_000,
  logRetention: 24 * 3_600_000,
  fenceInterval: 1_000,
  guardMargin: 10_000,
  guardInterval: 1_000,
  usageInterval: 15_000,
  logInterval: 1_000,
  longestLogInterval: 30_000,
  idleAfter: 300_000,
};
