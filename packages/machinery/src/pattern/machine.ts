import type { CharacterRange, Node } from './syntax.ts';

/** A state of a nondeterministic automaton. */
export type Place =
  | { readonly kind: 'characters'; readonly ranges: readonly CharacterRange[]; readonly next: number }
  | { readonly kind: 'split'; readonly next: readonly number[] }
  | { readonly kind: 'start' | 'end'; readonly next: number }
  | { readonly kind: 'match' };

export interface Machine {
  readonly places: readonly Place[];
  readonly first: number;
}

const mostPlaces = 512;

/** The machine for a pattern; undefined if it would be too large. */
export function machineOf(node: Node): Machine | undefined {
  const builder = new Builder();
  const match = builder.add({ kind: 'match' });
  const first = builder.build(node, match);
  return first === undefined ? undefined : { places: builder.places, first };
}

class Builder {
  readonly places: Place[] = [];

  add(place: Place): number {
    return this.places.push(place) - 1;
  }

  /** Adds the places of a node before those at `next`, and returns the first of them. */
  build(node: Node, next: number): number | undefined {
    if (this.places.length > mostPlaces) return undefined;
    switch (node.kind) {
      case 'set':
        return this.add({ kind: 'characters', ranges: node.ranges, next });
      case 'start':
      case 'end':
        return this.add({ kind: node.kind, next });
      case 'sequence':
        return node.parts.reduceRight<number | undefined>((after, part) => (after === undefined ? after : this.build(part, after)), next);
      case 'choice':
        return this.#choice(node.options, next);
      case 'repeat':
        return this.#repeat(node, next);
    }
  }

  #choice(options: readonly Node[], next: number): number | undefined {
    const starts: number[] = [];
    for (const option of options) {
      const start = this.build(option, next);
      if (start === undefined) return undefined;
      starts.push(start);
    }
    return this.add({ kind: 'split', next: starts });
  }

  #repeat({ of, least, most }: Node & { kind: 'repeat' }, next: number): number | undefined {
    let after: number | undefined = next;
    if (most === Number.POSITIVE_INFINITY) {
      const ways: number[] = [next];
      const loop = this.add({ kind: 'split', next: ways });
      const inner = this.build(of, loop);
      if (inner === undefined) return undefined;
      ways.push(inner);
      after = loop;
    } else {
      for (let count = least; count < most; count++) {
        const inner = this.build(of, after);
        if (inner === undefined) return undefined;
        after = this.add({ kind: 'split', next: [inner, next] });
      }
    }
    for (let count = 0; count < least; count++) {
      after = this.build(of, after);
      if (after === undefined) return undefined;
    }
    return after;
  }
}
