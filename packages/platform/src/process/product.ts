import { platformWorkspace } from '@capstan/api';
import { Client, type Connection, type Credentials } from '@capstan/client';
import { type ControllerContext, keepRunning, NotLeadingError, type Runnable, sliceEndpoints } from '@capstan/controller';
import { Trouble } from '@capstan/machinery';
import { accountName, exportName, productsNamespace } from '../content/names.ts';
import type { Product } from '../product.ts';
import { accountTokens } from './account-tokens.ts';
import type { Installations } from './installations.ts';
import { keepTokenFile } from './token-file.ts';

export interface ProductRunOptions {
  /** Of `platform-controllers`, at the server itself. */
  readonly own: Client;
  readonly installations: Installations;
  /** In seconds: how long a token of the account is valid. */
  readonly tokenLifetime?: number;
  /** Where to keep a token of the account, for a process beside this one. */
  readonly tokenFile?: string;
  readonly clientOptions?: ConstructorParameters<typeof Client>[1];
  readonly now?: () => number;
}

/**
 * Runs the controllers of a product as the product's service account. Until its content is installed, it waits. A controller that fails is started
 * again on its own. Disposing closes the connections.
 */
export function productRunnable(product: Product, options: ProductRunOptions): Runnable & Disposable {
  const credentials = accountCredentials(product, options);
  const account = accountClient(product, credentials, options);
  const platform = account.cluster(platformWorkspace);
  return {
    name: `product ${product.name}`,
    async run(context) {
      let isRunning = false;
      context.metrics.gauge('capstan_product_running', 'Whether the controllers of a product run.', {
        labels: { product: product.name },
        read: () => (isRunning ? 1 : 0),
      });
      await untilInstalled(product, options.installations, context);
      if (context.signal.aborted) return;
      isRunning = true;
      try {
        const { tokenFile: path } = options;
        const { signal, log } = context;
        await Promise.all([
          runControllers(product, context, { account, platform }),
          ...(path === undefined ? [] : [keepTokenFile({ credentials, path, signal, log })]),
        ]);
      } finally {
        isRunning = false;
      }
    },
    [Symbol.dispose]: () => account[Symbol.dispose](),
  };
}

function accountCredentials(product: Product, { own, tokenLifetime, now }: ProductRunOptions): Credentials {
  return accountTokens({
    client: own.cluster(platformWorkspace),
    account: { namespace: productsNamespace, name: accountName(product) },
    ...(tokenLifetime !== undefined && { lifetime: tokenLifetime }),
    ...(now && { now }),
  });
}

/** The account has no certificate: it must never act as the user of the process. */
function accountClient(product: Product, credentials: Credentials, { own, clientOptions }: ProductRunOptions): Client {
  const connection: Connection = { ...own.connection, credentials };
  return new Client(connection, { userAgent: `capstan-platform-controllers/${product.name}`, ...clientOptions });
}

/**
 * Waits until this version of the product is installed: the fields that it writes may not exist before. A product whose content is refused waits until
 * somebody corrects it.
 */
async function untilInstalled({ name }: Product, installations: Installations, { signal, log }: ControllerContext): Promise<void> {
  const waiting = new Trouble({
    log,
    now: () => performance.now(),
    begins: (why) => `waits until it is installed: ${why}`,
    lasts: (why, { duration }) => `has waited ${duration} to be installed: ${why}`,
    ends: ({ duration }) => `is installed, after ${duration}`,
  });
  let reason = '';
  let isLate = false;
  const report = (): void => {
    if (isLate && reason !== '') waiting.report(reason, name);
  };
  const timer = setTimeout(() => {
    isLate = true;
    report();
  }, ordinaryWait);
  try {
    await installations.installed(name, {
      signal,
      onWaiting: (why) => {
        reason = why;
        report();
      },
    });
  } finally {
    clearTimeout(timer);
  }
  if (signal.aborted) return;
  if (isLate && reason !== '') waiting.clear(name);
  else log('is installed');
}

/** In milliseconds: a new installation takes about this long at most, so that a shorter wait is not reported. */
const ordinaryWait = 5_000;

interface Places {
  /** Of the product's account, at the server itself. */
  readonly account: Client;
  /** Of the product's account, in root:platform. */
  readonly platform: Client;
}

async function runControllers(product: Product, context: ControllerContext, { account, platform }: Places): Promise<void> {
  await using slices = context.at(platform);
  const assertLeading = (): void => {
    if (!context.isLeading()) throw new NotLeadingError();
  };
  const tenants = sliceEndpoints({
    informers: slices.informers,
    name: exportName(product),
    // Every API server of an installation serves every view, so the one of the kubeconfig is as good as the published address, and works without DNS.
    clientOf: (url) => account.under(new URL(url).pathname).cluster('*').guarded(assertLeading),
  });
  await Promise.all(
    product.controllers.map(async ({ name, make }) => {
      await using own = context.at(platform, `${product.name}/${name}`);
      // The client in a controller's closures is guarded, too.
      const run = async (there: ControllerContext): Promise<void> => make({ tenants, platform: own.client }).run(there);
      await keepRunning({ run }, own, {
        onFailure: (error, wait) =>
          own.log(`failed and starts again in ${Math.ceil(wait / 1000)} s: ${error instanceof Error ? error.message : String(error)}`),
      });
    }),
  );
}
