import { controllers } from '@capstan/controllers';
import { leaderElectionShape } from './leader-election.ts';
import { checked, listOf, oneOf, section, text, truth, wholeNumber } from './shape.ts';

const path = text('a path');
const names = controllers.map(({ name }) => name);
const choices = new Set(['*', ...names, ...names.map((name) => `-${name}`)]);
const choice = oneOf(choices, `"*" for all, or one of ${names.join(', ')}, with a dash before it to exclude it`);

/** The section `controllerManager` of the configuration file. */
export const controllerManagerShape = section({
  kubeconfigFile: path,
  listen: section({ host: text('an address such as 127.0.0.1'), port: wholeNumber(0, 65_535) }),
  leaderElection: leaderElectionShape('capstan-controller-manager'),
  controllers: listOf(choice, 'a list of names such as ["*", "-garbage-collector"]'),
  concurrency: section(Object.fromEntries(names.map((name) => [name, wholeNumber(1, 256)]))),
  useAccounts: truth,
  signing: checked(
    section({ certificateFile: path, keyFile: path, maximumHours: wholeNumber(1, 87_600) }),
    ({ certificateFile, keyFile }) =>
      (certificateFile === undefined) === (keyFile === undefined) ? undefined : 'expected both "certificateFile" and "keyFile", or neither',
  ),
});

export type ControllerManagerConfig = ReturnType<typeof controllerManagerShape>;
