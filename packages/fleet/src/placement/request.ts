/** The request of an allocation. Every node of an answer has GPUs of one kind: the same model, memory and MIG profile. */
export interface PlacementRequest {
  readonly size: Size;
  /** How many nodes, each with `size`. */
  readonly nodes: number;
  /** For several nodes: the same value of a label, such as the rack or the fabric. */
  readonly topology?: { readonly label: string; readonly strength: Strength };
  /** One of these pools; any if absent. */
  readonly pools?: readonly string[];
  readonly matchLabels?: Readonly<Record<string, string>>;
  /** `pack` keeps large gaps free for large requests; `spread` takes the emptiest nodes. */
  readonly strategy: 'pack' | 'spread';
  /** Only this node, and only these devices if there are any. */
  readonly named?: NamedTarget;
}

export interface NamedTarget {
  readonly node: string;
  readonly devices?: readonly string[];
  /** Also if the node is cordoned or the devices are unhealthy. Booked devices stay booked. */
  readonly repair: boolean;
}

export type Strength = 'required' | 'preferred';

/** How much of each node. */
export type Size =
  | { readonly kind: 'devices'; readonly gpu: GpuWish; readonly count: number; readonly cpu: Share; readonly memory: Share }
  /** One of `parts` equal parts of a node: of its GPUs, its cpu and its memory. */
  | { readonly kind: 'fraction'; readonly gpu: GpuWish; readonly parts: number }
  /** A whole node with at least `count` GPUs, and nobody else on it. */
  | { readonly kind: 'node'; readonly gpu: GpuWish; readonly count: number };

/** `share`: the node's amount divided by its GPUs, for each GPU. */
export type Share = number | 'share';

export interface GpuWish {
  /** Any if absent. */
  readonly model?: string;
  /** The least memory of each GPU, in bytes. */
  readonly memory?: number;
  /** Instances with this profile; whole GPUs if absent. */
  readonly migProfile?: string;
  /** Whether the GPUs of a node must be in one NVLink group. */
  readonly nvlink?: Strength;
}

/** A node is asked for by its GPUs even if none of them is needed, such as for its cpu. */
export function wantsGpus(size: Size): boolean {
  const { model, memory, migProfile } = size.gpu;
  return size.kind === 'fraction' || size.count > 0 || model !== undefined || memory !== undefined || migProfile !== undefined;
}
