import type { KubeObject } from '@capstan/machinery/objects';

/** Something that tenants can order. Offerings are written in `root:platform` and read everywhere. */
export interface Offering extends KubeObject {
  spec?: OfferingSpec;
}

export interface OfferingSpec {
  readonly displayName?: string;
  readonly size: OfferingSize;
  /** The pools of nodes that it may use; all if absent. */
  readonly pools?: readonly string[];
  readonly nodeSelector?: Readonly<Record<string, string>>;
  /** `Pack` fills nodes that are in use already; `Spread` prefers those with the most free GPUs. */
  readonly strategy?: 'Pack' | 'Spread';
}

/** How much of a node an allocation gets. */
export type OfferingSize =
  | {
      readonly type: 'Devices';
      /** No GPUs if absent. */
      readonly gpu?: OfferedGpu & { readonly count: number };
      /** Quantities. If absent, the node's cpu and memory are divided by its GPUs. */
      readonly cpu?: string;
      readonly memory?: string;
    }
  /** One of `parts` equal parts of a node with such GPUs. */
  | { readonly type: 'Fraction'; readonly gpu: OfferedGpu; readonly parts: number }
  /** A whole node with at least so many GPUs, and nobody else on it. */
  | { readonly type: 'Node'; readonly gpu?: OfferedGpu & { readonly count: number } };

export interface OfferedGpu {
  /** Any model if absent. */
  readonly model?: string;
  /** The least memory of each GPU, as a quantity. */
  readonly memory?: string;
  /** `1g.10gb`: instances with this profile instead of whole GPUs. */
  readonly migProfile?: string;
  readonly nvlink?: Strength;
}

export type Strength = 'Required' | 'Preferred';
