/** The user that a request comes from, as authentication established it. */
export interface User {
  readonly name: string;
  readonly uid?: string;
  readonly groups: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

/** Members may do everything. */
export const superuserGroup = 'system:masters';
