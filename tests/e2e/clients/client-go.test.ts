import { run } from '@capstan/testbed';
import { expect, test } from 'vitest';
import { Kubectl } from '../support/kubectl.ts';
import { describeServers } from '../support/target.ts';

interface Check {
  readonly name: string;
  readonly ok: boolean;
  readonly detail?: string;
}

const expected = [
  'typed client in protobuf',
  'typed client in JSON',
  'server-side apply',
  'paged list',
  'informers see every change once',
  'leader election',
  'event recorder',
];

await describeServers('client-go', ['clientgo-probe', 'kubectl'], (target, paths) => {
  for (const watchList of ['true', 'false']) {
    test(`every check passes with streamed initial lists ${watchList === 'true' ? 'on' : 'off'}`, async () => {
      const kubectl = new Kubectl(paths.kubectl, () => ({ ...target(), namespace: `${target().namespace}-${watchList}` }));
      await kubectl.makeNamespace();
      const result = await run(paths['clientgo-probe'], ['--kubeconfig', target().kubeconfig, '--namespace', kubectl.namespace], {
        environment: { KUBE_FEATURE_WatchListClient: watchList },
      });
      await kubectl.dropNamespace();
      expect(result.code, result.stderr).toBe(0);
      const checks = JSON.parse(result.stdout) as Check[];
      expect(checks).toEqual(expected.map((name) => ({ name, ok: true })));
    });
  }
});
