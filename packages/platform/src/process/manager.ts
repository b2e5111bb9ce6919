import { platformWorkspace } from '@capstan/api';
import { Client, type Connection } from '@capstan/client';
import { Manager, type ManagerOptions, Metrics, requestMetrics } from '@capstan/controller';
import { type ContentOptions, platformContent } from '../content/controller.ts';
import type { Product } from '../product.ts';
import { Installations } from './installations.ts';
import { productRunnable } from './product.ts';

export interface PlatformOptions extends Pick<ManagerOptions, 'health' | 'leaderElection' | 'log' | 'stopWithin' | 'tracer'> {
  readonly products: readonly Product[];
  /** Of the user `system:capstan:platform-controllers`, at the server itself. */
  readonly connection: Connection;
  readonly content?: Pick<ContentOptions, 'interval' | 'retry'>;
  /** In seconds: how long a token of a product's account is valid. */
  readonly tokenLifetime?: number;
  /** Files in which to keep a token of a product's account, by the name of the product. */
  readonly tokenFiles?: Readonly<Record<string, string>>;
}

/** The Lease in root:platform whose holder works. */
export const platformLease = { namespace: 'kube-system', name: 'capstan-platform-controllers' };

export interface PlatformManager extends Disposable {
  readonly manager: Manager;
}

/**
 * Everything that `capstan platform-controllers` runs: the installation of all products, and the controllers of each, under its own account. Only the
 * installation uses the rights of the process's own user.
 */
export function platformManager(options: PlatformOptions): PlatformManager {
  const { products, connection, content: contentOptions, tokenLifetime, tokenFiles = {}, ...managerOptions } = options;
  const metrics = new Metrics();
  const clientOptions = {
    onRequest: requestMetrics(metrics),
    userAgent: 'capstan-platform-controllers',
    ...(options.tracer && { tracer: options.tracer }),
  };
  const own = new Client(connection, clientOptions);
  // The lease is in root:platform, where this user may write.
  const manager = new Manager({ ...managerOptions, metrics, client: own.cluster(platformWorkspace) });
  const installations = new Installations();
  const content = platformContent(products, { ...contentOptions, onStates: (states) => installations.set(states) });
  manager.add(content, { client: own });
  const { userAgent: _, ...productOptions } = clientOptions;
  const runnables = products.map((product) =>
    productRunnable(product, {
      own,
      installations,
      clientOptions: productOptions,
      ...(tokenLifetime !== undefined && { tokenLifetime }),
      ...(tokenFiles[product.name] !== undefined && { tokenFile: tokenFiles[product.name] }),
    }),
  );
  for (const runnable of runnables) manager.add(runnable);
  return {
    manager,
    [Symbol.dispose]() {
      for (const runnable of runnables) runnable[Symbol.dispose]();
      own[Symbol.dispose]();
    },
  };
}
