import { Client, connectionOf, InformerFactory, loadKubeconfig } from '@capstan/client';

/**
 * Fills one of our informers with the ConfigMaps of a namespace and prints how long it took until a handler had received all, like
 * `clientgo-probe -sync`.
 */
const [path = '', namespace = ''] = process.argv.slice(2);
const configMaps = { group: '', version: 'v1', resource: 'configmaps', namespaced: true };

using client = new Client(connectionOf(loadKubeconfig({ path })));
await using informers = new InformerFactory({ client });
const informer = informers.informer(configMaps, { namespace });
let objects = 0;
informer.onChange(() => {
  objects++;
});
const began = performance.now();
informers.start();
await informers.synced();
process.stdout.write(`${JSON.stringify({ objects, seconds: (performance.now() - began) / 1000 })}\n`);
