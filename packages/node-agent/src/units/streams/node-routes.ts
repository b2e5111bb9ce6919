import { type RoutedRequest, refuse } from '../../requests/router.ts';
import type { UnitEngine } from '../engine/engine.ts';
import { parseSecrets, type SecretStore } from '../secrets/store.ts';
import type { UsageSampler } from '../usage/usage.ts';

type NodeRequest = RoutedRequest<{ kind: 'node'; path: string }>;

export interface UnitRoutesOptions {
  readonly engine: Pick<UnitEngine, 'find'>;
  readonly secrets: SecretStore;
  readonly usage: Pick<UsageSampler, 'usage'>;
}

const secretsPath = /^\/units\/([a-z0-9.-]{1,253})\/secrets$/;
/** In bytes: 256 variables of 32 KiB, with room for their names and escapes. */
const largestSecrets = 16 << 20;

/** Serves `PUT /node/units/<name>/secrets` and `GET /node/units/usage`. Returns false if the path is another. */
export function serveUnitRoutes(request: NodeRequest, options: UnitRoutesOptions): Promise<void> | false {
  const { path } = request.route;
  if (path === '/units/usage') return serveUsage(request, options);
  const name = secretsPath.exec(path)?.[1];
  return name === undefined ? false : takeSecrets(request, name, options);
}

async function serveUsage(request: NodeRequest, { usage }: UnitRoutesOptions): Promise<void> {
  if (request.method !== 'GET') return refuse(request, { code: 405, reason: 'MethodNotAllowed', message: 'expected the method GET' });
  request.respond(200, { 'content-type': 'application/json' }).end(JSON.stringify({ units: usage.usage }));
}

async function takeSecrets(request: NodeRequest, name: string, { engine, secrets }: UnitRoutesOptions): Promise<void> {
  if (request.method !== 'PUT') return refuse(request, { code: 405, reason: 'MethodNotAllowed', message: 'expected the method PUT' });
  const text = await bodyOf(request);
  if (text === undefined)
    return refuse(request, { code: 413, reason: 'RequestEntityTooLarge', message: `expected at most ${largestSecrets} bytes` });
  const values = parseSecrets(text);
  // The message must not repeat anything of the body.
  if (values === undefined)
    return refuse(request, { code: 400, reason: 'BadRequest', message: 'expected {"env": {NAME: text}, "pullConfig": text}' });
  const run = engine.find(name);
  if (run === undefined) return refuse(request, { code: 404, reason: 'NotFound', message: `this node does not have the unit ${name} yet` });
  if (!run.record.spec.secrets || run.isFinal)
    return refuse(request, { code: 409, reason: 'Conflict', message: `unit ${name} does not wait for secrets` });
  await secrets.put(name, values);
  run.wake();
  request
    .respond(200, { 'content-type': 'application/json' })
    .end(JSON.stringify({ kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success' }));
}

/** Undefined if it is too large. */
async function bodyOf({ body }: NodeRequest): Promise<string | undefined> {
  const parts: Buffer[] = [];
  let length = 0;
  for await (const part of body as AsyncIterable<Buffer>) {
    length += part.length;
    if (length > largestSecrets) return undefined;
    parts.push(part);
  }
  return Buffer.concat(parts).toString('utf8');
}
