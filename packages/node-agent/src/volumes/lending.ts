import type { VolumeBackend } from './backends/backend.ts';
import { VolumeProblem } from './problem.ts';

/** The files of a volume, while another is made of them. */
export interface Lent {
  /** Its files. */
  readonly path: string;
  /** Where its backend keeps it. */
  readonly folder: string;
  readonly backend: VolumeBackend;
  /** No unit uses it. */
  readonly isIdle: boolean;
}

export interface LendOptions {
  /** The borrower can cope with units that write. */
  readonly evenInUse?: boolean;
}

/** Gives files to others for a while. Files that never change can be lent while units read them; others cannot be mounted meanwhile. */
export class Lending {
  #borrowers = 0;

  get isLent(): boolean {
    return this.#borrowers > 0;
  }

  async lend<T>(
    lent: (Omit<Lent, 'isIdle'> & { readonly isInUse: boolean; readonly isFixed: boolean }) | undefined,
    use: (lent: Lent) => Promise<T>,
    { evenInUse = false }: LendOptions = {},
  ): Promise<T> {
    if (lent === undefined) throw new VolumeProblem('SourceUnavailable', 'the storage that is to be copied is not ready on this node');
    const { isInUse, isFixed, ...rest } = lent;
    if (isInUse && !isFixed && !evenInUse)
      throw new VolumeProblem('SourceInUse', 'the storage that is to be copied is mounted by a unit; it is copied when the unit has ended');
    this.#borrowers++;
    try {
      return await use({ ...rest, isIdle: !isInUse });
    } finally {
      this.#borrowers--;
    }
  }
}
