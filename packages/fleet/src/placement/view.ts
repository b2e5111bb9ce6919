import { labelOf } from './node.ts';
import type { Membership, NodeRecord, Stock } from './node-record.ts';
import { OrderedNodes } from './ordered-nodes.ts';
import type { PlacementRequest } from './request.ts';
import { compareShapes, type Shape } from './shape.ts';

/** By which number nodes are sorted into buckets: free GPUs, free GPUs in one NVLink group, or free GPUs of nodes on which nothing is booked. */
export type Measure = 'free' | 'linked' | 'empty';

/** The nodes that requests of one sort choose from. */
export interface ViewKey {
  readonly pools: PlacementRequest['pools'];
  readonly matchLabels: PlacementRequest['matchLabels'];
  readonly measure: Measure;
  /** Whether nodes are looked up by the shape of their GPUs. */
  readonly withGpus: boolean;
  /** Nodes are grouped by the value of this label; all are one group if undefined. */
  readonly label: string | undefined;
}

export function nameOfView({ pools, matchLabels, measure, withGpus, label }: ViewKey): string {
  if (pools === undefined && matchLabels === undefined) return `${measure}/${withGpus}/${label ?? ''}`;
  const labels = Object.entries(matchLabels ?? {}).sort(([one], [other]) => (one < other ? -1 : 1));
  return JSON.stringify([measure, withGpus, label, pools?.toSorted(), labels]);
}

/** Nodes of one shape by their measure. A node with more free GPUs is in a later bucket. */
export interface Buckets {
  readonly shape: Shape;
  readonly nodes: OrderedNodes[];
}

/** The nodes with the same value of the view's label, by shape; smallest cards first. */
export class Group {
  readonly buckets: Buckets[] = [];
  readonly #byShape = new Map<string, Buckets>();

  ofShape(shape: Shape): Buckets {
    let buckets = this.#byShape.get(shape.key);
    if (buckets === undefined) {
      buckets = { shape, nodes: [] };
      this.#byShape.set(shape.key, buckets);
      this.buckets.push(buckets);
      this.buckets.sort((one, other) => compareShapes(one.shape, other.shape));
    }
    return buckets;
  }
}

/** An index of the open nodes that a selector matches, kept up to date node by node. */
export class View {
  readonly key: ViewKey;
  /** By the value of the label. Nodes without it are in the group `undefined`. */
  readonly groups = new Map<string | undefined, Group>();

  constructor(key: ViewKey, records: Iterable<NodeRecord>) {
    this.key = key;
    for (const record of records) this.add(record);
  }

  add(record: NodeRecord): void {
    if (!record.isOpen || !this.#matches(record)) return;
    const { label, measure, withGpus } = this.key;
    const value = label === undefined ? undefined : labelOf(record.node, label);
    let group = this.groups.get(value);
    if (group === undefined) this.groups.set(value, (group = new Group()));
    const stocks = withGpus ? record.stocks : [record.whole];
    for (const stock of stocks) record.memberships.push(new Place(record, { stock, measure, buckets: group.ofShape(stock.shape) }));
  }

  #matches({ node }: NodeRecord): boolean {
    const { pools, matchLabels } = this.key;
    if (pools !== undefined && !pools.includes(node.pool)) return false;
    return Object.entries(matchLabels ?? {}).every(([label, value]) => labelOf(node, label) === value);
  }
}

/** Where the GPUs of one shape on a node lie. */
class Place implements Membership {
  readonly #record: NodeRecord;
  readonly #stock: Stock;
  readonly #measure: Measure;
  readonly #buckets: Buckets;
  /** Undefined if they are in no bucket. */
  #bucket: OrderedNodes | undefined;

  constructor(record: NodeRecord, { stock, measure, buckets }: { stock: Stock; measure: Measure; buckets: Buckets }) {
    this.#record = record;
    this.#stock = stock;
    this.#measure = measure;
    this.#buckets = buckets;
    this.move();
  }

  move(): void {
    const bucket = this.#find();
    if (bucket === this.#bucket) {
      bucket?.refresh(this.#record);
      return;
    }
    this.#bucket?.delete(this.#record);
    bucket?.add(this.#record);
    this.#bucket = bucket;
  }

  leave(): void {
    this.#bucket?.delete(this.#record);
    this.#bucket = undefined;
  }

  #find(): OrderedNodes | undefined {
    if (this.#measure === 'empty' && !this.#record.isEmpty) return undefined;
    const { nodes } = this.#buckets;
    const place = this.#measure === 'linked' ? this.#stock.linked : this.#stock.free.length;
    while (nodes.length <= place) nodes.push(new OrderedNodes());
    return nodes[place];
  }
}
