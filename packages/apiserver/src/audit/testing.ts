import type { TestServer } from '../testing/harness.ts';

interface RecordedEvent {
  readonly stage: string;
  readonly verb: string;
  readonly user: { readonly username: string };
  readonly impersonatedUser?: { readonly username: string };
}

/** The verbs and users of streams that have started, newest first. In the default mode, a stream starts after it is recorded. */
export async function recordedStreams(server: Pick<TestServer, 'call'>, workspace: string, resource: string): Promise<string[]> {
  const reply = await server.call(`/clusters/${workspace}/capstan/audit?resource=${resource}`);
  const events = reply.json().items as unknown as RecordedEvent[];
  return events
    .filter(({ stage }) => stage === 'ResponseStarted')
    .map(({ verb, user, impersonatedUser }) => `${verb} by ${(impersonatedUser ?? user).username}`);
}
