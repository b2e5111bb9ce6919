import { generateKeyPairSync, X509Certificate } from 'node:crypto';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { JsonObject, KubeObject } from '@capstan/machinery';
import { issueCertificate } from '@capstan/pki';
import type { ServerOptions } from '../../server/options.ts';
import { type Reply, startTestServer, type TestServer } from '../../testing/harness.ts';

/** A request that a webhook received. */
export interface Question {
  readonly path: string;
  readonly apiVersion: string;
  readonly request: JsonObject & {
    readonly uid: string;
    readonly operation: string;
    readonly object: KubeObject;
    readonly oldObject: KubeObject;
    readonly name?: string;
    readonly kind: JsonObject;
    readonly resource: JsonObject;
    readonly options: JsonObject;
  };
}

/**
 * The `response` without the uid, a whole body, the beginning of one, or none until a promise resolves. Undefined closes the connection.
 */
export type Answer =
  | { readonly response: JsonObject; readonly after?: Promise<unknown> }
  | { readonly body: string; readonly code?: number }
  | { readonly wait: Promise<unknown> }
  | { readonly stall: string }
  | undefined;

/** A webhook for tests: returns configurable responses and records requests. */
export class TestWebhook implements AsyncDisposable {
  readonly questions: Question[] = [];
  readonly authority: string;
  /** Its own certificate, signed by the authority. */
  readonly certificate: string;
  readonly #server: Server;
  readonly #answer: (question: Question) => Answer;

  private constructor(answer: (question: Question) => Answer) {
    this.#answer = answer;
    const { certificate, key, authority } = certificates();
    this.authority = authority;
    this.certificate = certificate;
    this.#server = createServer({ cert: certificate, key }, (request, response) => {
      let text = '';
      request.setEncoding('utf8');
      request.on('data', (chunk: string) => {
        text += chunk;
      });
      request.on('end', () => {
        const question = { ...(JSON.parse(text) as Question), path: new URL(request.url ?? '', 'https://webhook').pathname };
        this.questions.push(question);
        const chosen = this.#answer(question);
        if (chosen === undefined) return request.socket.destroy();
        if ('wait' in chosen) return void chosen.wait.finally(() => response.destroy());
        if ('stall' in chosen) return response.write(chosen.stall);
        const send = (): void => {
          response.writeHead('code' in chosen ? (chosen.code ?? 200) : 200, { 'content-type': 'application/json' });
          response.end('body' in chosen ? chosen.body : review(question, chosen.response));
        };
        if ('after' in chosen && chosen.after !== undefined) void chosen.after.then(send, () => response.destroy());
        else send();
      });
    });
  }

  static async start(answer: (question: Question) => Answer): Promise<TestWebhook> {
    const webhook = new TestWebhook(answer);
    await new Promise<void>((resolve) => webhook.#server.listen(0, '127.0.0.1', resolve));
    return webhook;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** The clientConfig for a path. */
  at(path = ''): JsonObject {
    return { url: `https://127.0.0.1:${this.port}/${path}`, caBundle: Buffer.from(this.authority).toString('base64') };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

export function review({ apiVersion, request }: Question, response: JsonObject): string {
  return JSON.stringify({ apiVersion, kind: 'AdmissionReview', response: { uid: request.uid, ...response } });
}

export function patch(operations: unknown): JsonObject {
  const text = typeof operations === 'string' ? operations : JSON.stringify(operations);
  return { allowed: true, patchType: 'JSONPatch', patch: Buffer.from(text).toString('base64') };
}

function certificates(): { certificate: string; key: string; authority: string } {
  const pair = () => generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const life = { notBefore: new Date(Date.now() - 60_000), notAfter: new Date(Date.now() + 3_600_000) };
  const root = pair();
  const own = pair();
  const authority = issueCertificate(
    { commonName: 'webhooks', publicKey: root.publicKey, usage: 'authority', ...life },
    { key: root.privateKey },
  );
  const certificate = issueCertificate(
    { commonName: 'webhook', publicKey: own.publicKey, usage: 'server', hosts: ['127.0.0.1', 'hook.test.svc'], ...life },
    { key: root.privateKey, certificate: new X509Certificate(authority) },
  );
  return { certificate, key: own.privateKey.export({ type: 'pkcs8', format: 'pem' }) as string, authority };
}

const registration = '/apis/admissionregistration.k8s.io/v1';

export type HookSettings = JsonObject & { name: string; clientConfig: JsonObject };

/** Registers webhooks; by default they match all operations on ConfigMaps in the namespace `test`. */
export async function register(
  server: TestServer,
  kind: 'mutating' | 'validating',
  name: string,
  hooks: readonly HookSettings[],
): Promise<void> {
  const path = `${registration}/${kind}webhookconfigurations`;
  const webhooks = hooks.map((hook) => ({
    rules: [{ operations: ['*'], apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps'] }],
    namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'test' } },
    sideEffects: 'None',
    admissionReviewVersions: ['v1'],
    ...hook,
  }));
  const reply = await server.call(path, { method: 'POST', body: { metadata: { name }, webhooks } });
  if (reply.code !== 201) throw new Error(`the webhook configuration was refused: ${reply.text}`);
}

export const allowed: Answer = { response: { allowed: true } };

export const addData = (key: string, value = 'yes'): Answer => ({ response: patch([{ op: 'add', path: `/data/${key}`, value }]) });

/** A server with a namespace `test`, and a webhook whose responses each test chooses. */
export class Bench implements AsyncDisposable {
  readonly server: TestServer;
  readonly webhook: TestWebhook;
  answer: (question: Question) => Answer = () => allowed;
  #made = 0;

  private constructor(server: TestServer, webhook: TestWebhook) {
    this.server = server;
    this.webhook = webhook;
  }

  static async start(options: Partial<ServerOptions> = {}): Promise<Bench> {
    const server = await startTestServer(options);
    let bench: Bench | undefined;
    const webhook = await TestWebhook.start((question) => bench!.answer(question));
    bench = new Bench(server, webhook);
    await server.call('/api/v1/namespaces', { method: 'POST', body: { metadata: { name: 'test' } } });
    return bench;
  }

  create(object: Partial<KubeObject> = {}, query = ''): Promise<Reply> {
    const metadata = { name: `made-${++this.#made}`, ...object.metadata };
    const body = { data: { a: '1' }, ...object, metadata };
    return this.server.call(`/api/v1/namespaces/test/configmaps${query}`, { method: 'POST', body });
  }

  /** Registers one webhook for each path. */
  mutating(...paths: string[]): Promise<void> {
    return register(this.server, 'mutating', 'hooks', this.#hooks(paths));
  }

  validating(...paths: string[]): Promise<void> {
    return register(this.server, 'validating', 'hooks', this.#hooks(paths));
  }

  async reset(): Promise<void> {
    for (const kind of ['mutating', 'validating']) {
      await this.server.call(`${registration}/${kind}webhookconfigurations`, { method: 'DELETE' });
    }
    this.answer = () => allowed;
    this.webhook.questions.length = 0;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.webhook[Symbol.asyncDispose]();
    await this.server[Symbol.asyncDispose]();
  }

  #hooks(paths: readonly string[]): HookSettings[] {
    return paths.map((path) => ({ name: `${path}.test.io`, clientConfig: this.webhook.at(path) }));
  }
}
