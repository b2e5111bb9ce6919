import { hash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { Agent } from 'node:https';
import type { AppAccessFile } from '@capstan/api';
import { BoundedMap } from '@capstan/machinery';

/** Where a Kubernetes API on this machine is, and connections to it that show a client certificate. */
export interface ClusterConnection {
  readonly host: string;
  readonly port: number;
  readonly agent: Agent;
}

interface Known {
  readonly digest: string;
  readonly agent: Agent;
}

/** Instances whose connections are kept. A node has one of them, or a few. */
const capacity = 16;

/** Connections to the Kubernetes APIs of instances. They are kept until a certificate is renewed. */
export class ClusterConnections implements Disposable {
  readonly #known = new BoundedMap<string, Known>(capacity);

  /** Undefined if the instance has no Kubernetes API on this node. Rejects if a file of it cannot be read. */
  async of(
    instance: string,
    { port, address = '127.0.0.1', authorityFile, certificateFile, keyFile }: AppAccessFile,
  ): Promise<ClusterConnection | undefined> {
    if (port === undefined || authorityFile === undefined || certificateFile === undefined || keyFile === undefined) return undefined;
    const [ca, cert, key] = await Promise.all([authorityFile, certificateFile, keyFile].map((file) => readFile(file, 'utf8')));
    const digest = hash('sha256', JSON.stringify([address, port, ca, cert, key]));
    let known = this.#known.get(instance);
    if (known?.digest !== digest) {
      known?.agent.destroy();
      known = { digest, agent: new Agent({ keepAlive: true, maxFreeSockets: 8, ca, cert, key }) };
      this.#known.set(instance, known);
    }
    return { host: address, port, agent: known.agent };
  }

  [Symbol.dispose](): void {
    for (const { agent } of this.#known.values()) agent.destroy();
  }
}
