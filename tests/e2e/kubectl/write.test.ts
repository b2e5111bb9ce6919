import { chmodSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Kubectl } from '../support/kubectl.ts';
import { type ConfigMap, configMap, type Deployment, deployment, type KubernetesObject } from '../support/objects.ts';
import { describeServers } from '../support/target.ts';

await describeServers('kubectl writes', ['kubectl'], (target, paths) => {
  const kubectl = new Kubectl(paths.kubectl, target);

  beforeAll(() => kubectl.makeNamespace());
  afterAll(() => kubectl.dropNamespace());

  test('create accepts flags and files', async () => {
    expect(await kubectl.run('create', 'configmap', 'flags', '--from-literal=a=1')).toBe('configmap/flags created');
    expect(await kubectl.run('create', 'secret', 'generic', 'keys', '--from-literal=k=v')).toBe('secret/keys created');
    expect(await kubectl.run('create', 'serviceaccount', 'robot')).toBe('serviceaccount/robot created');
    expect(await kubectl.run('create', 'role', 'reader', '--verb=get', '--resource=configmaps')).toBe(
      'role.rbac.authorization.k8s.io/reader created',
    );
    expect(await kubectl.run('create', 'quota', 'small', '--hard=configmaps=100')).toBe('resourcequota/small created');
    expect(await kubectl.refused('create', 'configmap', 'flags')).toBe(
      'error: failed to create configmap: configmaps "flags" already exists',
    );
  });

  test('a server-side dry run answers normally and changes nothing', async () => {
    expect(await kubectl.create(configMap('dry'), '--dry-run=server')).toBe('configmap/dry created (server dry run)');
    expect(await kubectl.refused('get', 'cm', 'dry')).toContain('not found');
  });

  test('rejects unknown fields and wrong values in a file, and names them', async () => {
    const broken = { ...configMap('broken'), dta: {} };
    expect(await kubectl.refusedWith({ input: JSON.stringify(broken) }, 'create', '-f', '-')).toContain('unknown field "dta"');
    expect(await kubectl.refusedWith({ input: JSON.stringify(configMap('Upper')) }, 'create', '-f', '-')).toContain(
      'The ConfigMap "Upper" is invalid: metadata.name: Invalid value: "Upper": a lowercase RFC 1123 subdomain',
    );
  });

  test('edit opens the object in an editor and sends the changes', async () => {
    await kubectl.create(configMap('edited', { color: 'red' }));
    const editor = target().home.join('editor.sh');
    writeFileSync(editor, '#!/bin/sh\nsed -i "s/color: red/color: blue/" "$1"\n');
    chmodSync(editor, 0o755);
    expect(await kubectl.give({ environment: { KUBE_EDITOR: editor } }, 'edit', 'cm', 'edited')).toBe('configmap/edited edited');
    expect((await kubectl.json<ConfigMap>('get', 'cm', 'edited')).data).toEqual({ color: 'blue' });
  });

  test('patch supports all three types', async () => {
    await kubectl.create(deployment('patched'));
    const strategic = { spec: { template: { spec: { containers: [{ name: 'side', image: 'example.com/side:1' }] } } } };
    await kubectl.run('patch', 'deployment', 'patched', '--type=strategic', '-p', JSON.stringify(strategic));
    await kubectl.run('patch', 'deployment', 'patched', '--type=merge', '-p', '{"metadata":{"labels":{"by":"merge"}}}');
    await kubectl.run('patch', 'deployment', 'patched', '--type=json', '-p', '[{"op":"replace","path":"/spec/replicas","value":5}]');
    const patched = await kubectl.json<Deployment>('get', 'deployment', 'patched');
    expect(patched.spec.template.spec.containers.map((container) => container.name)).toEqual(['side', 'main']);
    expect(patched.metadata.labels).toEqual({ by: 'merge' });
    expect(patched.spec.replicas).toBe(5);
    expect(await kubectl.run('patch', 'deployment', 'patched', '-p', '{}')).toBe('deployment.apps/patched patched (no change)');
  });

  test('label and annotate add, refuse to overwrite, overwrite and remove', async () => {
    await kubectl.create(configMap('marked'));
    expect(await kubectl.run('label', 'cm', 'marked', 'a=1')).toBe('configmap/marked labeled');
    expect(await kubectl.refused('label', 'cm', 'marked', 'a=2')).toContain("'a' already has a value (1), and --overwrite is false");
    await kubectl.run('label', 'cm', 'marked', 'a=2', '--overwrite');
    await kubectl.run('annotate', 'cm', 'marked', 'note=hello');
    const { metadata } = await kubectl.json<ConfigMap>('get', 'cm', 'marked');
    expect([metadata.labels, metadata.annotations]).toEqual([{ a: '2' }, { note: 'hello' }]);
    await kubectl.run('annotate', 'cm', 'marked', 'note-');
    await kubectl.run('label', 'cm', 'marked', 'a-');
    const cleared = await kubectl.json<ConfigMap>('get', 'cm', 'marked');
    expect([cleared.metadata.labels, cleared.metadata.annotations]).toEqual([undefined, undefined]);
  });

  test('replace requires the version that was read', async () => {
    await kubectl.create(configMap('replaced', { v: '1' }));
    const read = await kubectl.json<ConfigMap>('get', 'cm', 'replaced');
    expect(await kubectl.give({ input: JSON.stringify({ ...read, data: { v: '2' } }) }, 'replace', '-f', '-')).toBe(
      'configmap/replaced replaced',
    );
    expect(await kubectl.refusedWith({ input: JSON.stringify({ ...read, data: { v: '3' } }) }, 'replace', '-f', '-')).toContain(
      'the object has been modified; please apply your changes to the latest version and try again',
    );
  });

  test('scale uses the subresource and raises the generation', async () => {
    await kubectl.create(deployment('scaled', 1));
    expect(await kubectl.run('scale', 'deployment', 'scaled', '--replicas=3')).toBe('deployment.apps/scaled scaled');
    expect(await kubectl.refused('scale', 'deployment', 'scaled', '--current-replicas=1', '--replicas=4')).toContain(
      'Expected replicas to be 1, was 3',
    );
    const scaled = await kubectl.json<Deployment>('get', 'deployment', 'scaled');
    expect([scaled.spec.replicas, scaled.metadata.generation]).toEqual([3, 2]);
  });

  test('set image and rollout status work on a deployment', async () => {
    await kubectl.create(deployment('rolled', 1));
    expect(await kubectl.run('set', 'image', 'deployment/rolled', 'main=example.com/app:2')).toBe('deployment.apps/rolled image updated');
    expect(await kubectl.run('get', 'deployment', 'rolled', '-o', 'jsonpath={.spec.template.spec.containers[0].image}')).toBe(
      'example.com/app:2',
    );
  });

  test('writes a status through its subresource only', async () => {
    await kubectl.create(deployment('status', 1));
    await kubectl.run('patch', 'deployment', 'status', '--type=merge', '-p', '{"status":{"replicas":7}}');
    expect(await kubectl.run('get', 'deployment', 'status', '-o', 'jsonpath={.status.replicas}')).toBe('');
    await kubectl.run(
      'patch',
      'deployment',
      'status',
      '--subresource=status',
      '--type=merge',
      '-p',
      '{"status":{"replicas":7},"spec":{"replicas":9}}',
    );
    expect(await kubectl.run('get', 'deployment', 'status', '-o', 'jsonpath={.status.replicas} {.spec.replicas}')).toBe('7 1');
  });

  test('delete removes one, many by label, and waits for finalizers', async () => {
    await kubectl.create({
      apiVersion: 'v1',
      kind: 'List',
      items: ['d1', 'd2', 'd3'].map((name) => configMap(name, {}, { labels: { gone: 'yes' } })),
    });
    expect(await kubectl.run('delete', 'cm', 'd1')).toMatch(/^configmap "d1" deleted/);
    expect((await kubectl.run('delete', 'cm', '-l', 'gone=yes')).split('\n')).toHaveLength(2);
    expect(await kubectl.run('delete', 'cm', 'd1', '--ignore-not-found')).toBe('');
    const held = { ...configMap('held'), metadata: { name: 'held', finalizers: ['example.com/hold'] } };
    await kubectl.create(held);
    await kubectl.run('delete', 'cm', 'held', '--wait=false');
    expect(await kubectl.run('get', 'cm', 'held', '-o', 'jsonpath={.metadata.deletionGracePeriodSeconds}')).toBe('0');
    const waiting = kubectl.run('wait', '--for=delete', 'cm/held', '--timeout=30s');
    await kubectl.run('patch', 'cm', 'held', '--type=merge', '-p', '{"metadata":{"finalizers":null}}');
    expect(await waiting).toMatch(/^configmap\/held condition met|^$/);
    expect(await kubectl.refused('get', 'cm', 'held')).toContain('NotFound');
  });

  test('wait --for sees a value that another client writes', async () => {
    await kubectl.create(configMap('awaited', { ready: 'no' }));
    const waiting = kubectl.run('wait', '--for=jsonpath={.data.ready}=yes', 'cm/awaited', '--timeout=30s');
    await kubectl.run('patch', 'cm', 'awaited', '--type=merge', '-p', '{"data":{"ready":"yes"}}');
    expect(await waiting).toBe('configmap/awaited condition met');
  });

  test('get -w prints each change as it arrives', async () => {
    await kubectl.create(configMap('watched', { n: '0' }));
    await using watching = kubectl.start('get', 'cm', 'watched', '-w', '--output-watch-events', '-o', 'jsonpath={.type}:{.object.data.n} ');
    await watching.waitUntil('the first event', () => watching.output.includes('ADDED:0'), 20_000);
    await kubectl.run('patch', 'cm', 'watched', '--type=merge', '-p', '{"data":{"n":"1"}}');
    await kubectl.run('delete', 'cm', 'watched');
    await watching.waitUntil('the last event', () => watching.output.includes('DELETED'), 20_000);
    expect(watching.output.trim()).toBe('ADDED:0 MODIFIED:1 DELETED:1');
  });

  test('generates a name from generateName', async () => {
    const made = await kubectl.create({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { generateName: 'gen-' } }, '-o', 'name');
    expect(made).toMatch(/^configmap\/gen-[a-z0-9]{5}$/);
  });

  test('records and lists events', async () => {
    const about: KubernetesObject = await kubectl.json('create', 'cm', 'subject');
    const event = {
      ...{
        apiVersion: 'v1',
        kind: 'Event',
        metadata: { name: 'subject.1' },
        type: 'Warning',
        reason: 'Tested',
        message: 'it works',
        count: 2,
      },
      ...{ firstTimestamp: '2026-01-01T00:00:00Z', lastTimestamp: '2026-01-01T00:00:00Z', source: { component: 'e2e' } },
      involvedObject: { apiVersion: 'v1', kind: 'ConfigMap', name: about.metadata.name, namespace: kubectl.namespace },
    };
    await kubectl.create(event);
    expect(await kubectl.run('events', '--for', 'cm/subject', '--no-headers')).toMatch(/Warning\s+Tested\s+ConfigMap\/subject\s+it works/);
    expect(await kubectl.run('get', 'events', '--field-selector', 'reason=Tested', '-o', 'name')).toBe('event/subject.1');
  });
});
