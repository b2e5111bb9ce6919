import { existsSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { describeUnless } from '@capstan/testbed/vitest';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { clusterProblem, KubernetesHosts } from './kubernetes-hosts.ts';

const program = process.env['PROGRAM'] === 'rke2' ? 'rke2' : 'k3s';
const data = `/var/lib/rancher/${program}`;
const log = `${data}/server/db/etcd/member/wal/0000000000000000-0000000000000000.wal`;

/** Files that appear while a server starts for the first time, in their order. Some of them are only half of something then. */
const moments = [
  `${data}/server/tls/client-ca.crt`,
  `${data}/server/token`,
  `${data}/server/db/etcd`,
  `${data}/server/db/etcd/member/wal.tmp`,
  log,
  log,
  log,
  `${data}/server/kube-apiserver.log`,
  `/etc/rancher/${program}/${program}.yaml`,
  `${data}/agent/kubelet.kubeconfig`,
  '/etc/cni/net.d/10-bridge.conflist',
];

describeUnless(await clusterProblem({ builds: true }), `a server of ${program} that is killed while it starts for the first time`, () => {
  let lab: KubernetesHosts;
  beforeAll(async () => {
    lab = await KubernetesHosts.start(program, 1);
  });
  afterAll(() => lab?.[Symbol.asyncDispose]());

  test.each(moments.map((file, index) => [file, index] as const))(
    'becomes ready after it is started again: when %s appears (%i)',
    async (file) => {
      lab.add('server', 'gpu-1');
      const deployed = lab.runner.do('deploy');
      const killed = (async () => {
        while (!existsSync(lab.host('gpu-1').path(file))) await sleep(1);
        await lab.runner.restart('lab-gpu-1');
      })();
      await Promise.all([deployed, killed]);
      expect(await lab.readyNodes()).toEqual(['gpu-1']);
      await lab.runner.do('decommission');
      expect(lab.runner.residues).toEqual([]);
    },
  );
});
