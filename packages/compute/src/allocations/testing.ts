import type { Client } from '@capstan/client';
import type { ControllerContext, Runnable } from '@capstan/controller';

const writes: ReadonlySet<PropertyKey> = new Set(['create', 'update', 'updateStatus', 'patch', 'apply', 'delete']);

export interface MortalOptions {
  /** How many writes a life lasts. The next one is not sent, and nothing is after it. */
  readonly writes: number;
  /** Called when a life ends. */
  readonly onDeath: () => void;
}

/** Sends a write, unless the process is dead. */
type Spend = (write: () => Promise<unknown>) => Promise<unknown>;

/** A controller whose process is killed after so many writes, again and again. Nothing that it has in memory outlives it. */
export function mortal(runnable: Runnable, options: MortalOptions): Runnable {
  return {
    name: runnable.name,
    async run(context) {
      while (!context.signal.aborted) {
        const life = new AbortController();
        let left = options.writes;
        let sent: Promise<unknown> = Promise.resolve();
        const spend: Spend = (write) => {
          if (left-- > 0) return (sent = write());
          // Those that were sent before arrive.
          sent.catch(() => {}).finally(() => life.abort());
          return Promise.reject(new Error('killed'));
        };
        const signal = AbortSignal.any([context.signal, life.signal]);
        await runnable.run({ ...limited(context, spend), signal, drop: AbortSignal.any([context.drop, life.signal]) }).catch(() => {});
        if (life.signal.aborted) options.onDeath();
      }
    },
  };
}

function limited(context: ControllerContext, spend: Spend): ControllerContext {
  return {
    ...context,
    client: counting(context.client, spend),
    at: (client, name) => {
      const there = context.at(client, name);
      return { ...limited(there, spend), [Symbol.asyncDispose]: () => there[Symbol.asyncDispose]() };
    },
  };
}

function counting(client: Client, spend: Spend): Client {
  return new Proxy(client, {
    get(target, property) {
      const value: unknown = Reflect.get(target, property, target);
      if (typeof value !== 'function') return value;
      if (property === 'json')
        return (call: Parameters<Client['json']>[0]) => (call.method === 'GET' ? target.json(call) : spend(() => target.json(call)));
      if (property === 'cluster') return (name: string) => counting(target.cluster(name), spend);
      if (property === 'resource') return (type: Parameters<Client['resource']>[0]) => countingResource(target.resource(type), spend);
      return value.bind(target) as unknown;
    },
  });
}

function countingResource<T extends object>(resource: T, spend: Spend): T {
  return new Proxy(resource, {
    get(target, property) {
      const value: unknown = Reflect.get(target, property, target);
      if (typeof value !== 'function') return value;
      return (...given: unknown[]): unknown => {
        const call = (): unknown => Reflect.apply(value, target, given);
        if (writes.has(property)) return spend(call as () => Promise<unknown>);
        const result = call();
        return property === 'in' ? countingResource(result as object, spend) : result;
      };
    },
  });
}
