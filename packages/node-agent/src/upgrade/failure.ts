export type UpgradeFault =
  /** The agent was not installed by the control plane, so somebody else has to upgrade it. */
  | 'NotManaged'
  /** No server offers the wanted version. */
  | 'NotOffered'
  | 'DownloadFailed'
  /** The archive is not the one that the server describes. */
  | 'ChecksumMismatch'
  | 'NoSpace'
  | 'UnpackFailed'
  /** The new version does not run here. */
  | 'SelfCheckFailed'
  /** The new version did not report to the control plane, and the one before it runs again. */
  | 'NotReady';

/** Thrown when an upgrade does not take place. The present version goes on. */
export class UpgradeFailure extends Error {
  override readonly name = 'UpgradeFailure';
  readonly fault: UpgradeFault;

  constructor(fault: UpgradeFault, message: string, options?: ErrorOptions) {
    super(message, options);
    this.fault = fault;
  }
}
