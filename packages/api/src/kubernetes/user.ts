/** The user that a request comes from, as authentication established it. */
export interface User {
  readonly name: string;
  readonly uid?: string;
  readonly groups: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

/** Members may do everything. */
export const superuserGroup = 'system:masters';

/** The owners of the platform: they may do everything in every workspace. */
export const platformOwnersGroup = 'system:kcp:admin';

/** The group of kubelets, each of which is the user `system:node:<name>`. */
export const nodeGroup = 'system:nodes';
export const nodePrefix = 'system:node:';

/** The group of all users with a bootstrap token. */
export const bootstrappersGroup = 'system:bootstrappers';
