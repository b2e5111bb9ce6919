import { checked, section, text, truth, wholeNumber } from './shape.ts';

/** The section `leaderElection` of a process with controllers. */
export function leaderElectionShape(lease: string) {
  return checked(
    section({
      enabled: truth,
      namespace: text('a namespace such as kube-system'),
      name: text(`the name of a lease such as ${lease}`),
      leaseSeconds: wholeNumber(3, 3600),
      renewSeconds: wholeNumber(2, 3599),
      retrySeconds: wholeNumber(1, 3598),
    }),
    ({ leaseSeconds = 15, renewSeconds = 10, retrySeconds = 2 }) =>
      leaseSeconds > renewSeconds && renewSeconds > retrySeconds
        ? undefined
        : `expected leaseSeconds > renewSeconds > retrySeconds, found ${leaseSeconds}, ${renewSeconds} and ${retrySeconds}: a leader must be able to retry before it gives up, and give up before another takes over`,
  );
}

export type LeaderElectionConfig = ReturnType<ReturnType<typeof leaderElectionShape>>;
