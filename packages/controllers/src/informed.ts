import type { InformerFactory } from '@capstan/client';
import type { Runnable } from '@capstan/controller';

/** A controller whose reconciler also reads copies of other kinds than its own. */
export function informed(make: (informers: () => InformerFactory) => Runnable): Runnable {
  let given: InformerFactory | undefined;
  const inner = make(() => {
    if (given === undefined) throw new Error('the controller has not been prepared');
    return given;
  });
  return {
    name: inner.name,
    prepare(informers) {
      given = informers;
      inner.prepare?.(informers);
    },
    run: (context) => inner.run(context),
  };
}
