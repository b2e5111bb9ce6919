import type { DraftFaults, UnitDraft } from '../../modules/units/draft.ts';

/** The parts of the form share the draft. */
export interface UnitFields {
  readonly workspace: string;
  readonly namespace: string;
  readonly draft: UnitDraft;
  readonly faults: DraftFaults;
  readonly change: (part: Partial<UnitDraft>) => void;
}
