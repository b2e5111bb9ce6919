import { controllers } from '@capstan/controllers';
import { ConfigError } from './document.ts';
import { readConfig } from './file.ts';
import { listOf, oneOf, section, text, truth, wholeNumber } from './shape.ts';

const path = text('a path');
const names = controllers.map(({ name }) => name);
const choices = new Set(['*', ...names, ...names.map((name) => `-${name}`)]);
const choice = oneOf(choices, `"*" for all, or one of ${names.join(', ')}, with a dash before it to leave it out`);

const shape = section({
  dataDirectory: path,
  kubeconfigFile: path,
  listen: section({ host: text('an address such as 127.0.0.1'), port: wholeNumber(0, 65_535) }),
  leaderElection: section({
    enabled: truth,
    namespace: text('a namespace such as kube-system'),
    name: text('the name of a lease such as capstan-controller-manager'),
    leaseSeconds: wholeNumber(3, 3600),
    renewSeconds: wholeNumber(2, 3599),
    retrySeconds: wholeNumber(1, 3598),
  }),
  controllers: listOf(choice, 'a list of names such as ["*", "-garbage-collector"]'),
  concurrency: section(Object.fromEntries(names.map((name) => [name, wholeNumber(1, 256)]))),
  useAccounts: truth,
  signing: section({ certificateFile: path, keyFile: path, maximumHours: wholeNumber(1, 87_600) }),
});

export type ControllerManagerConfig = ReturnType<typeof shape>;

/** Reads the configuration file of `capstan controller-manager`. */
export function readControllerManagerConfig(file: string): ControllerManagerConfig {
  const config = readConfig(file, shape);
  const { leaderElection = {}, signing } = config;
  const { leaseSeconds = 15, renewSeconds = 10, retrySeconds = 2 } = leaderElection;
  if (!(leaseSeconds > renewSeconds && renewSeconds > retrySeconds)) {
    throw new ConfigError(
      `${file}: leaderElection needs leaseSeconds > renewSeconds > retrySeconds, found ${leaseSeconds}, ${renewSeconds} and ${retrySeconds}: a leader must be able to retry before it stops, and stop before others begin`,
    );
  }
  if (signing !== undefined && (signing.certificateFile === undefined) !== (signing.keyFile === undefined))
    throw new ConfigError(`${file}: signing needs both "certificateFile" and "keyFile", or neither`);
  return config;
}
