import type { InformerFactory } from '@capstan/client';
import type { Runnable } from '@capstan/controller';

/** A controller whose reconciler also reads copies of other kinds than its own. */
export const informed = (make: (informers: () => InformerFactory) => Runnable): Runnable => informedBy((informers) => informers, make);

/** The same, through what is made of the informers before they fill. */
export function informedBy<T>(learn: (informers: InformerFactory) => T, make: (known: () => T) => Runnable): Runnable {
  let known: { readonly value: T } | undefined;
  const inner = make(() => {
    if (known === undefined) throw new Error('the controller has not been prepared');
    return known.value;
  });
  return {
    name: inner.name,
    prepare(informers) {
      known = { value: learn(informers) };
      inner.prepare?.(informers);
    },
    run: (context) => inner.run(context),
  };
}
