import type { Ecc, Gpu } from '@capstan/api';
import { modelOf } from '../text/model.ts';

/** The facts about a card that both of AMD's tools report. */
export interface AmdFacts {
  readonly uuid: string;
  readonly productName: string;
  readonly memoryBytes: number;
  readonly pciBusId: string;
  /** Negative, or absent, if the card belongs to no node. */
  readonly numaNode: number | undefined;
  readonly ecc: Ecc;
}

/** A card, with its device file by bus id: `/dev/dri/renderD128`. */
export function amdGpu({ numaNode, ecc, ...facts }: AmdFacts, renderNodes: ReadonlyMap<string, string> | undefined): Gpu {
  const renderNode = renderNodes?.get(facts.pciBusId);
  const minor = /renderD(\d{1,4})$/.exec(renderNode ?? '')?.[1];
  return {
    ...facts,
    model: modelOf(facts.productName),
    ...(minor !== undefined && { minor: Number(minor) }),
    deviceFiles: renderNode === undefined ? [] : ['/dev/kfd', renderNode],
    ...(numaNode !== undefined && numaNode >= 0 && { numaNode }),
    mig: { mode: 'unsupported', devices: [] },
    ecc,
    repairs: { pending: false, failed: false },
    recoveryAction: 'unknown',
  };
}
