import { Client, connectionOf, loadKubeconfig } from '@capstan/client';
import { controller, done, Manager } from '@capstan/controller';
import type { KubeObject } from '@capstan/machinery';

/** Runs a reconciler without work over all ConfigMaps of a namespace, and prints how long it took from the first to the last of them. */
const [path = '', namespace = '', count = ''] = process.argv.slice(2);
const configMaps = { group: '', version: 'v1', resource: 'configmaps', namespaced: true, kind: 'ConfigMap' };

using client = new Client(connectionOf(loadKubeconfig({ path })));
const stop = new AbortController();
const seen = new Set<string>();
let began = 0;
let seconds = 0;
const trivial = controller('trivial')
  .for<KubeObject>(configMaps, { namespace })
  .reconcile(
    ({ key }) => {
      if (seen.size === 0) began = performance.now();
      seen.add(key.name);
      if (seen.size < Number(count)) return done;
      seconds = (performance.now() - began) / 1000;
      stop.abort();
      return done;
    },
    { concurrency: 8 },
  );
const manager = new Manager({ client });
manager.add(trivial);
await manager.run(stop.signal);
process.stdout.write(`${JSON.stringify({ objects: seen.size, seconds })}\n`);
