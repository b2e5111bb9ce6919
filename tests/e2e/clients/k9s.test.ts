import { Client, connectionOf, dialOptions, loadKubeconfig } from '@capstan/client';
import type { JsonObject } from '@capstan/machinery';
import { type ChannelMessage, channel, dialCommand, dialPort } from '@capstan/streams';
import { buildCapstan, freePort } from '@capstan/testbed';
import { describeUnless } from '@capstan/testbed/vitest';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { seenUnitProblem, startSeenUnit } from '../support/seen-unit.ts';

await buildCapstan();

const patience = { timeout: 60_000, interval: 200 };
const pods = '/api/v1/namespaces/default/pods';
const metrics = '/apis/metrics.k8s.io/v1beta1/namespaces/default/pods';
const units = '/apis/compute.capstan.dev/v1alpha1/namespaces/default/gpuunits';
const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const aggregated = ['v2', 'v2beta1'].map((version) => `application/json;g=apidiscovery.k8s.io;v=${version};as=APIGroupDiscoveryList`);
const table = ['v1', 'v1beta1'].map((version) => `application/json;as=Table;v=${version};g=meta.k8s.io`);
const accepting = (kinds: readonly string[]) => ({ accept: [...kinds, 'application/json'].join(',') });

interface List {
  readonly kind: string;
  readonly metadata: { readonly resourceVersion: string };
  readonly items: readonly (JsonObject & { readonly metadata: { readonly name: string } })[];
}

interface Table {
  readonly kind: string;
  readonly columnDefinitions: readonly { readonly name: string }[];
  readonly rows: readonly { readonly cells: readonly unknown[]; readonly object: JsonObject }[];
}

/** The requests of k9s 0.50, with its options: those at its start, those of its view of pods, and those of its actions. */
describeUnless(seenUnitProblem, 'k9s in a project with a unit', () => {
  const stack = new AsyncDisposableStack();
  let client: Client;
  let port: number;

  beforeAll(async () => {
    port = await freePort();
    const script = `import time, http.server, threading
threading.Thread(target=http.server.HTTPServer(('127.0.0.1', ${port}), http.server.SimpleHTTPRequestHandler).serve_forever, daemon=True).start()
for tick in range(10000): print('tick', tick, flush=True); time.sleep(0.2)`;
    const { kubeconfig } = stack.use(await startSeenUnit(['python3', '-c', script], ['--port', `http=${port}`]));
    client = stack.use(new Client(connectionOf(loadKubeconfig({ path: kubeconfig }))));
  }, 240_000);
  afterAll(() => stack.disposeAsync());

  const get = <T>(path: string, headers: Readonly<Record<string, string>> = { accept: 'application/json' }): Promise<T> =>
    client.json<T>({ method: 'GET', path, headers });
  /** The first text of a stream that satisfies; the stream is left then. */
  const streamed = async (path: string, isEnough: (text: string) => boolean): Promise<string> => {
    const stop = new AbortController();
    const answer = await client.send({ method: 'GET', path, dedicated: true, signal: stop.signal });
    let text = '';
    const read = answer.read(60_000, (part) => {
      text += part;
      if (isEnough(text)) stop.abort();
    });
    await read.catch(() => {});
    expect([answer.code, isEnough(text)], text).toEqual([200, true]);
    return text;
  };
  /** Lists objects and then watches them, with the options of an informer. Returns both answers. */
  const informed = async (path: string): Promise<{ list: List; bookmark: string }> => {
    const list = await get<List>(`${path}?limit=500&resourceVersion=0`);
    const query = `allowWatchBookmarks=true&resourceVersion=${list.metadata.resourceVersion}&timeoutSeconds=300&watch=true`;
    const answer = await client.send({ method: 'GET', path: `${path}?${query}`, dedicated: true, signal: AbortSignal.timeout(2_000) });
    expect(answer.code).toBe(200);
    let bookmark = '';
    await answer.read(10_000, (part) => void (bookmark += part)).catch(() => {});
    expect(bookmark).not.toContain('"ERROR"');
    return { list, bookmark };
  };
  const mayI = async (verb: string, resource: string, { group = '', subresource = '', namespace = 'default' } = {}): Promise<boolean> => {
    const resourceAttributes = { namespace, verb, group, resource, ...(subresource !== '' && { subresource }) };
    const body = { kind: 'SelfSubjectAccessReview', apiVersion: 'authorization.k8s.io/v1', spec: { resourceAttributes } };
    const path = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews';
    const review = await client.json<{ status: { allowed: boolean } }>({ method: 'POST', path, body: JSON.stringify(body) });
    return review.status.allowed;
  };

  test('finds a version, and the kinds that it can show', async () => {
    expect(await get('/version')).toMatchObject({ major: '1', gitVersion: expect.stringMatching(/^v1\./) });
    interface Discovery {
      readonly kind: string;
      readonly items: readonly {
        readonly metadata: { name?: string };
        readonly versions: readonly { readonly resources: readonly { resource: string }[] }[];
      }[];
    }
    const [core, groups] = await Promise.all(['/api', '/apis'].map((path) => get<Discovery>(path, accepting(aggregated))));
    expect([core!.kind, groups!.kind]).toEqual(['APIGroupDiscoveryList', 'APIGroupDiscoveryList']);
    const resourcesOf = (group: string): string[] =>
      groups!.items
        .filter(({ metadata }) => metadata.name === group)
        .flatMap(({ versions }) => versions.flatMap((one) => one.resources.map(({ resource }) => resource)));
    expect(core!.items.flatMap(({ versions }) => versions.flatMap((one) => one.resources.map(({ resource }) => resource)))).toContain(
      'pods',
    );
    expect(resourcesOf('compute.capstan.dev')).toEqual(expect.arrayContaining(['gpuunits', 'allocations']));
    // Without it, k9s shows no use of processors and memory.
    expect(resourcesOf('metrics.k8s.io')).toContain('pods');
    const plain = await get<{ groups: readonly { name: string; versions: readonly { version: string }[] }[] }>('/apis');
    expect(plain.groups.find(({ name }) => name === 'metrics.k8s.io')?.versions[0]?.version).toBe('v1beta1');
  });

  test('may see what it shows', async () => {
    for (const verb of ['get', 'list', 'watch']) {
      expect(await mayI(verb, 'pods')).toBe(true);
      expect(await mayI(verb, 'namespaces', { namespace: '' })).toBe(true);
      expect(await mayI(verb, 'customresourcedefinitions', { group: 'apiextensions.k8s.io', namespace: '' })).toBe(true);
    }
    expect(await mayI('list', 'pods', { group: 'metrics.k8s.io' })).toBe(true);
    expect(await mayI('get', 'pods', { subresource: 'log' })).toBe(true);
    for (const subresource of ['exec', 'attach', 'portforward']) expect(await mayI('create', 'pods', { subresource })).toBe(true);
  });

  test('lists and watches namespaces, definitions and pods', async () => {
    const { list: namespaces } = await informed('/api/v1/namespaces');
    expect(namespaces.items.map(({ metadata }) => metadata.name)).toContain('default');
    expect((await informed(definitions)).list.kind).toBe('CustomResourceDefinitionList');
    for (const path of ['/api/v1/pods', pods]) {
      const { list } = await informed(path);
      const pod = list.items.find(({ metadata }) => metadata.name === 'seen') as JsonObject | undefined;
      expect(pod).toMatchObject({
        spec: { containers: [{ name: 'unit', ports: [{ containerPort: port }] }], nodeName: expect.any(String) },
        status: { phase: 'Running', containerStatuses: [{ name: 'unit', ready: true, restartCount: 0, state: { running: {} } }] },
      });
    }
  });

  test('shows tables', async () => {
    const columnsOf = ({ columnDefinitions }: Table): string[] => columnDefinitions.map(({ name }) => name);
    const shown = await get<Table>(`${pods}?includeObject=Metadata&labelSelector=&fieldSelector=`, accepting(table));
    expect(columnsOf(shown)).toEqual(expect.arrayContaining(['Name', 'Ready', 'Status', 'Restarts', 'Age']));
    expect(shown.rows[0]?.cells.slice(0, 4)).toEqual(['seen', '1/1', 'Running', '0']);
    expect(shown.rows[0]?.object).toMatchObject({ kind: 'PartialObjectMetadata' });
    const whole = await get<Table>(`${units}?includeObject=Object`, accepting(table));
    expect(columnsOf(whole)).toEqual(expect.arrayContaining(['Name', 'Phase']));
    expect(whole.rows[0]?.object).toMatchObject({ kind: 'GPUUnit', metadata: { name: 'seen' } });
    expect(await get<Table>(`${units}/seen`, accepting(table.slice(0, 1)))).toMatchObject({ kind: 'Table', rows: [{}] });
  });

  test('shows the use of processors and memory', async () => {
    await vi.waitFor(async () => {
      const { items } = await get<{
        items: readonly { metadata: { name: string }; containers: readonly { name: string; usage: object }[] }[];
      }>(metrics);
      expect(items).toMatchObject([
        { metadata: { name: 'seen' }, containers: [{ name: 'unit', usage: { cpu: expect.any(String), memory: expect.any(String) } }] },
      ]);
    }, patience);
    expect(await get(`${metrics}/seen`)).toMatchObject({ kind: 'PodMetrics', metadata: { name: 'seen' } });
  });

  test('describes a pod with its events', async () => {
    const fieldSelector = encodeURIComponent('involvedObject.kind=Pod,involvedObject.name=seen,involvedObject.namespace=default');
    expect(await get(`/api/v1/namespaces/default/events?fieldSelector=${fieldSelector}&limit=500`)).toMatchObject({ kind: 'EventList' });
    expect(await get(`${pods}/seen`)).toMatchObject({ kind: 'Pod', metadata: { ownerReferences: [{ kind: 'GPUUnit', name: 'seen' }] } });
  });

  test('follows logs, and shows their beginning', async () => {
    const followed = await streamed(
      `${pods}/seen/log?container=unit&follow=true&tailLines=100&timestamps=true`,
      (text) => text.split('\n').length > 5,
    );
    for (const line of followed.split('\n').slice(0, 5)) expect(line).toMatch(/^\d{4}-\d\d-\d\dT\S+Z tick \d+$/);
    const head = await client.send({ method: 'GET', path: `${pods}/seen/log?container=unit&limitBytes=14&timestamps=false` });
    let text = '';
    await head.read(10_000, (part) => void (text += part));
    expect(text).toBe('tick 0\ntick 1\n');
    const since = await streamed(`${pods}/seen/log?container=unit&follow=true&sinceSeconds=60&timestamps=true`, (lines) =>
      lines.includes(' tick '),
    );
    expect(since).toContain(' tick ');
  });

  test('opens a shell, and forwards a port', async () => {
    const { server, headers, tls } = await dialOptions(client.connection, { userAgent: 'k9s' });
    const query = `command=sh&command=-c&command=${encodeURIComponent('echo $((40 + 2))')}&container=unit&stdin=true&stdout=true&tty=true`;
    const shell = await dialCommand({ url: `${server}${pods}/seen/exec?${query}`, headers, tls });
    let text = '';
    for await (const { channel: number, payload } of shell as AsyncIterable<ChannelMessage>)
      if (number === channel.stdout) text += payload.toString();
    expect(text.trim()).toBe('42');
    const forwarded = await dialPort({ url: `${server}${pods}/seen/portforward`, headers, tls }, port);
    forwarded.data.end('GET / HTTP/1.0\r\n\r\n');
    let page = '';
    for await (const part of forwarded.data as AsyncIterable<Buffer>) page += part.toString();
    expect(page).toContain('200 OK');
  });

  test('is told why a pod of a unit cannot be deleted', async () => {
    const answer = await client.send({ method: 'DELETE', path: `${pods}/seen`, body: JSON.stringify({ propagationPolicy: 'Background' }) });
    let text = '';
    await answer.read(10_000, (part) => void (text += part));
    expect([answer.code, text]).toEqual([403, expect.stringContaining('kubectl delete gpuunit seen')]);
  });
});
