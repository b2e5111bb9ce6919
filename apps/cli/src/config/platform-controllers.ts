import { leaderElectionShape } from './leader-election.ts';
import { section, text, wholeNumber } from './shape.ts';

/** The section `platformControllers` of the configuration file. */
export const platformControllersShape = section({
  kubeconfigFile: text('a path'),
  listen: section({ host: text('an address such as 127.0.0.1'), port: wholeNumber(0, 65_535) }),
  leaderElection: leaderElectionShape('capstan-platform-controllers'),
  nodes: section({ silentSeconds: wholeNumber(1, 86_400) }),
});

export type PlatformControllersConfig = ReturnType<typeof platformControllersShape>;
