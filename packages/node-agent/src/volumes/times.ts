/** All in milliseconds. */
export interface VolumeTimes {
  /** How often the use of volumes is measured. */
  readonly usageInterval: number;
  /** The pause after the first problem; it doubles up to the longest. */
  readonly retryDelay: number;
  readonly longestRetryDelay: number;
}

export const defaultVolumeTimes: VolumeTimes = { usageInterval: 60_000, retryDelay: 2_000, longestRetryDelay: 300_000 };

/** How often a download is tried before somebody has to ask for it again. */
export const mostDownloads = 5;
