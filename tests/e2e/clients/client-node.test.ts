import { ApiException, CoreV1Api, CustomObjectsApi, KubeConfig, makeInformer, type V1ConfigMap, Watch } from '@kubernetes/client-node';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeServers } from '../support/target.ts';

await describeServers('@kubernetes/client-node', [], (target) => {
  let config: KubeConfig;
  let core: CoreV1Api;
  let namespace: string;

  beforeAll(async () => {
    config = new KubeConfig();
    config.loadFromFile(target().kubeconfig);
    core = config.makeApiClient(CoreV1Api);
    namespace = target().namespace;
    await core.createNamespace({ body: { metadata: { name: namespace } } });
  });
  afterAll(async () => {
    await core.deleteNamespace({ name: namespace });
  });

  const make = (name: string, data: Record<string, string>): Promise<V1ConfigMap> =>
    core.createNamespacedConfigMap({ namespace, body: { metadata: { name, labels: { by: 'client-node' } }, data } });

  test('creates, reads, replaces, lists and deletes an object', async () => {
    const made = await make('life', { a: '1' });
    expect(made.metadata?.creationTimestamp).toBeInstanceOf(Date);
    const replaced = await core.replaceNamespacedConfigMap({ name: 'life', namespace, body: { ...made, data: { a: '2' } } });
    expect(replaced.data).toEqual({ a: '2' });
    await expect(core.replaceNamespacedConfigMap({ name: 'life', namespace, body: { ...made, data: { a: '3' } } })).rejects.toMatchObject({
      code: 409,
    });
    const list = await core.listNamespacedConfigMap({ namespace, labelSelector: 'by=client-node' });
    expect(list.items.map((item) => item.metadata?.name)).toEqual(['life']);
    await core.deleteNamespacedConfigMap({ name: 'life', namespace });
    const error: unknown = await core.readNamespacedConfigMap({ name: 'life', namespace }).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(ApiException);
    expect((error as ApiException<unknown>).code).toBe(404);
  });

  test('delivers events after the version of a watch', async () => {
    const { metadata } = await core.listNamespacedConfigMap({ namespace });
    const seen: string[] = [];
    const done = new Promise<void>((resolve, reject) => {
      const stop = new Watch(config).watch(
        `/api/v1/namespaces/${namespace}/configmaps`,
        { resourceVersion: metadata?.resourceVersion ?? '0', fieldSelector: 'metadata.name=watched' },
        (phase: string, object: V1ConfigMap) => {
          seen.push(`${phase} ${object.data?.['n']}`);
          if (phase === 'DELETED') void stop.then((controller) => controller.abort());
        },
        (error: unknown) => (seen.length === 3 ? resolve() : reject(error)),
      );
    });
    const made = await make('watched', { n: '1' });
    await core.replaceNamespacedConfigMap({ name: 'watched', namespace, body: { ...made, data: { n: '2' } } });
    await core.deleteNamespacedConfigMap({ name: 'watched', namespace });
    await done;
    expect(seen).toEqual(['ADDED 1', 'MODIFIED 2', 'DELETED 2']);
  });

  test('fills an informer with existing objects and keeps it current', async () => {
    await make('informed-1', {});
    const list = () => core.listNamespacedConfigMap({ namespace, labelSelector: 'by=client-node' });
    const informer = makeInformer<V1ConfigMap>(config, `/api/v1/namespaces/${namespace}/configmaps`, list, 'by=client-node');
    const deleted = new Promise<string | undefined>((resolve) => informer.on('delete', (object) => resolve(object.metadata?.name)));
    const added = new Promise<void>((resolve) => informer.on('add', (object) => object.metadata?.name === 'informed-2' && resolve()));
    await informer.start();
    await make('informed-2', {});
    await added;
    await core.deleteNamespacedConfigMap({ name: 'informed-1', namespace });
    expect(await deleted).toBe('informed-1');
    expect(informer.list(namespace).map((object) => object.metadata?.name)).toEqual(['informed-2']);
    await informer.stop();
  });

  test('rejects custom objects of an unknown group', async () => {
    const custom = config.makeApiClient(CustomObjectsApi);
    const asked = custom.listNamespacedCustomObject({ group: 'nope.example.com', version: 'v1', namespace, plural: 'nopes' });
    await expect(asked).rejects.toMatchObject({ code: 404 });
  });
});
