/** An amount that the objects of a kind have, and that quotas can limit. */
export type Measure = {
  /** As limits name it, such as `storage`. No two kinds have measures of one name. */
  readonly name: string;
  /** Names the amount within a sentence, such as `the sizes of all storages together`. */
  readonly description: string;
  /** Each value of it has a limit of its own, such as each model of GPUs. */
  readonly perValue?: true;
  /** CEL: the amount of the object `self`, a whole number that is not negative. Without it, the controllers of the kind say how much each object has. */
  readonly amount?: string;
} & (
  | {
      readonly unit: 'count';
      /** One of them, and several, as in `1 GPU` and `2 GPUs`. */
      readonly words: readonly [one: string, many: string];
    }
  | {
      readonly unit: 'bytes';
      /** As in `10 GiB of storage`. */
      readonly of: string;
    }
  | { readonly unit: 'millicores' }
);
