import { Agent as HttpsAgent, request } from 'node:https';
import type { Call, Reply } from '@capstan/apiserver/testing';
import { type Agent, enroll, invite, newKey } from '@capstan/apiserver/testing-fleet';
import type { Connection } from '@capstan/testbed';

/** How many machines enrol at once. */
const atOnce = 20;

/** Requests as the owner of the address. */
export interface Calls extends Disposable {
  readonly url: string;
  call(path: string, call?: Call): Promise<Reply>;
}

export function callsTo(address: Connection): Calls {
  const agent = new HttpsAgent({ keepAlive: true, maxSockets: atOnce });
  return {
    url: `https://${address.host}:${address.port}`,
    call: (path, call = {}) => ask(address, agent, { ...call, path }),
    [Symbol.dispose]: () => agent.destroy(),
  };
}

/** Enrols machines with a server whose platform has installed the kinds of the fleet. */
export async function enrollMany(address: Connection, count: number): Promise<Agent[]> {
  using server = callsTo(address);
  const run = Date.now().toString(36);
  const agents: Agent[] = [];
  for (let first = 0; first < count; first += atOnce) {
    const names = Array.from({ length: Math.min(atOnce, count - first) }, (_, index) => `load-${run}-${first + index}`);
    agents.push(
      ...(await Promise.all(
        names.map(async (node) => {
          const key = newKey();
          const reply = await enroll(server, { token: await invite(server, node), node, key });
          if (reply.code !== 200) throw new Error(`${node} could not be enrolled: ${reply.text}`);
          return { node, key, certificate: (JSON.parse(reply.text) as { certificate: string }).certificate };
        }),
      )),
    );
  }
  return agents;
}

function ask({ host, port, ca, certificate, key }: Connection, agent: HttpsAgent, call: Call & { readonly path: string }): Promise<Reply> {
  const { path, method = 'GET', headers = {}, body, anonymous = false } = call;
  return new Promise((resolve, reject) => {
    const outgoing = request(
      {
        ...{ host, port, ca, path, method, agent },
        ...(!anonymous && { cert: certificate, key }),
        headers: { 'content-type': 'application/json', ...headers },
      },
      (incoming) => {
        let text = '';
        incoming.setEncoding('utf8').on('data', (piece: string) => (text += piece));
        incoming.on('end', () =>
          resolve({
            code: incoming.statusCode ?? 0,
            headers: incoming.headers,
            body: Buffer.from(text),
            text,
            json: () => JSON.parse(text),
          }),
        );
      },
    );
    outgoing.on('error', reject);
    outgoing.end(body === undefined ? undefined : JSON.stringify(body));
  });
}
