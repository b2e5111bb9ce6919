import { createHash } from 'node:crypto';
import { cpSync, readFileSync } from 'node:fs';
import { Agent, request } from 'node:https';
import type { Call, Reply } from '@capstan/apiserver/testing';
import { createPlatform, invite } from '@capstan/apiserver/testing-fleet';
import { certificateFingerprint } from '@capstan/pki';
import { buildCapstan, Child, capstanProgram, type EtcdCluster, freePort, startEtcd, temporaryDirectory } from '@capstan/testbed';
import { describeWith } from '@capstan/testbed/vitest';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';

await buildCapstan();

const patience = { timeout: 30_000, interval: 100 };

/** An API server in a process of its own, and its administrator. */
class Server implements AsyncDisposable {
  readonly url: string;
  readonly #command: readonly string[];
  readonly #agent: Agent;
  #child: Child;

  constructor(directory: string, port: number, args: readonly string[]) {
    this.url = `https://127.0.0.1:${port}`;
    this.#command = [process.execPath, capstanProgram, 'apiserver', '--data-dir', directory, '--port', String(port), ...args];
    this.#child = new Child(directory, this.#command);
    const pem = (name: string): Buffer => readFileSync(`${directory}/pki/${name}`);
    this.#agent = new Agent({ keepAlive: false });
    const tls = () => ({ ca: pem('ca.crt'), cert: pem('admin.crt'), key: pem('admin.key') });
    this.call = (path, call) => this.#call(path, { ...call, tls: { ...tls(), ...call?.tls } });
  }

  /** As its administrator, or with another certificate. */
  readonly call: (path: string, call?: Call & { readonly tls?: object }) => Promise<Reply>;

  async ready(): Promise<this> {
    await this.#child.waitUntil('ready', () => this.#child.output.includes('ready at'));
    return this;
  }

  kill = (): Promise<void> => this.#child.kill();

  start(): Promise<this> {
    this.#child = new Child(this.url, this.#command);
    return this.ready();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#agent.destroy();
    await this.#child.stop();
  }

  #call(path: string, { method = 'GET', body, headers = {}, tls }: Call & { readonly tls: object }): Promise<Reply> {
    return new Promise((resolve, reject) => {
      const outgoing = request(`${this.url}${path}`, {
        ...tls,
        method,
        agent: this.#agent,
        headers: { 'content-type': 'application/json', ...headers },
      });
      outgoing.on('error', reject);
      outgoing.on('response', (incoming) => {
        let text = '';
        incoming.setEncoding('utf8').on('data', (piece: string) => (text += piece));
        incoming.on('error', reject);
        incoming.on('end', () =>
          resolve({
            code: incoming.statusCode ?? 0,
            headers: incoming.headers,
            body: Buffer.from(text),
            text,
            json: () => JSON.parse(text),
          }),
        );
      });
      outgoing.end(body === undefined ? undefined : JSON.stringify(body));
    });
  }
}

await describeWith(['etcd'], 'a node whose agent reaches one of two API servers', () => {
  const directory = temporaryDirectory('node-relay');
  let etcd: EtcdCluster;
  let near: Server;
  let far: Server;
  let agent: Child;

  beforeAll(async () => {
    etcd = await startEtcd();
    const store = ['--etcd-endpoints', etcd.endpoints.join(',')];
    near = await new Server(directory.join('near'), await freePort(), store).ready();
    cpSync(directory.join('near', 'pki'), directory.join('far', 'pki'), { recursive: true });
    // The agent is told an address of the other server at which nothing listens.
    const nowhere = `127.0.0.1:${await freePort()}`;
    far = await new Server(directory.join('far'), await freePort(), [...store, '--advertise', nowhere]).ready();
    await createPlatform(near);
    const hash = certificateFingerprint(readFileSync(directory.join('near', 'pki', 'ca.crt'), 'utf8'));
    const joining = ['--server', near.url, '--token', await invite(near, 'lonely'), '--ca-hash', hash];
    agent = new Child('agent', [
      process.execPath,
      capstanProgram,
      'node-agent',
      '--echo',
      '--state-dir',
      directory.join('agent'),
      ...joining,
    ]);
    await agent.waitUntil('the tunnel is open', () => agent.output.includes(`${near.url} is open`));
    const spec = { nodeName: 'lonely', containers: [{ name: 'c', image: 'i' }] };
    const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p' }, spec };
    expect((await near.call('/api/v1/namespaces/default/pods', { method: 'POST', body: pod })).code).toBe(201);
  });
  afterAll(async () => {
    await agent?.stop();
    await far?.[Symbol.asyncDispose]();
    await near?.[Symbol.asyncDispose]();
    await etcd?.[Symbol.asyncDispose]();
    directory[Symbol.dispose]();
  });

  const log = async (server: Server): Promise<string | number> => {
    const { code, text } = await server.call('/api/v1/namespaces/default/pods/p/log');
    return code === 200 ? (JSON.parse(text) as { pod: string }).pod : code;
  };

  test('is reached through both', async () => {
    await vi.waitFor(async () => expect([await log(near), await log(far)]).toEqual(['p', 'p']), patience);
  });

  test('is not reached while that server is down, and is again when it is back', async () => {
    await near.kill();
    await vi.waitFor(async () => expect(await log(far)).not.toBe('p'), patience);
    await near.start();
    await vi.waitFor(async () => expect(await log(far)).toBe('p'), patience);
    expect(agent.running).toBe(true);
  });

  test('a query of the audit log has the events of both servers in order, and names one that does not answer', async () => {
    const headers = { 'content-type': 'application/apply-patch+yaml' };
    for (const [name, server] of [['one', near] as const, ['two', far] as const, ['three', near] as const]) {
      const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name } };
      const path = `/api/v1/namespaces/default/configmaps/${name}?fieldManager=test`;
      expect((await server.call(path, { method: 'PATCH', headers, body })).code).toBe(201);
    }
    interface Events {
      readonly metadata: { readonly continue?: string };
      readonly missingServers?: readonly string[];
      readonly items: readonly { readonly objectRef: { readonly name: string } }[];
    }
    const query = async (server: Server, more: string): Promise<Events> =>
      (await server.call(`/capstan/audit?verb=patch&resource=configmaps&namespace=default${more}`)).json() as unknown as Events;
    const names = ({ items }: Events): string[] => items.map(({ objectRef }) => objectRef.name);
    await vi.waitFor(async () => expect(names(await query(far, '&limit=10'))).toEqual(['three', 'two', 'one']), patience);
    // Nothing listens where this one looks for the other.
    const alone = await query(near, '&limit=10');
    expect([names(alone), alone.missingServers]).toEqual([['three', 'one'], [expect.any(String)]]);
    const first = await query(far, '&limit=2');
    expect([names(first), first.missingServers]).toEqual([['three', 'two'], undefined]);
    expect(names(await query(far, `&limit=2&continue=${first.metadata.continue}`))).toEqual(['one']);
    await near.kill();
    const partly = await query(far, '&limit=10');
    expect([names(partly), partly.missingServers]).toEqual([['two'], [expect.any(String)]]);
    await near.start();
  });

  test('an artifact that one server has is served by both, also in part, and removed from both', async () => {
    const content = JSON.stringify({ text: 'x'.repeat(300_000) });
    const sha256 = createHash('sha256').update(content).digest('hex');
    const path = `/capstan/artifacts/${sha256}`;
    const put = { method: 'PUT', body: JSON.parse(content) as object };
    expect((await near.call(`${path}?offset=0&size=${content.length}&name=file`, put)).text).toContain('"complete":true');
    await vi.waitFor(async () => expect((await far.call(path)).text === content).toBe(true), patience);
    expect((await far.call(path)).headers['content-length']).toBe(String(content.length));
    const rest = await far.call(path, { headers: { range: 'bytes=200000-' } });
    expect([rest.code, rest.headers['content-range']]).toEqual([206, `bytes 200000-${content.length - 1}/${content.length}`]);
    expect(rest.text === content.slice(200_000)).toBe(true);
    expect((await far.call(path, { headers: { range: `bytes=${content.length}-` } })).code).toBe(416);
    for (const server of [near, far])
      expect((await server.call('/capstan/artifacts')).json().artifacts).toMatchObject([{ sha256, name: 'file' }]);
    expect((await far.call(path, { method: 'DELETE' })).code).toBe(200);
    for (const server of [near, far]) expect((await server.call(path)).code).toBe(404);
  });

  test('a node that is removed at one server can do nothing at either of them', async () => {
    const { certificate, key } = JSON.parse(readFileSync(directory.join('agent', 'identity.json'), 'utf8')) as {
      certificate: string;
      key: string;
    };
    const path = '/clusters/root:platform/apis/fleet.capstan.dev/v1alpha1/gpunodes/lonely';
    const asNode = (server: Server): Promise<Reply> => server.call(path, { tls: { cert: certificate, key } });
    expect([(await asNode(near)).code, (await asNode(far)).code]).toEqual([200, 200]);
    expect((await far.call(path, { method: 'DELETE' })).code).toBe(200);
    expect((await asNode(far)).code).toBe(401);
    // The other server learns of it from the store.
    await vi.waitFor(async () => expect((await asNode(near)).code).toBe(401), patience);
    expect((await agent.exited).code).toBe(14);
    expect(await log(far)).not.toBe('p');
  });
});
