import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type App, appKind, type NodeScript, newObject, nodeScriptKind } from '@capstan/api';
import type { JsonObject } from '@capstan/machinery/objects';
import { Marks } from './marks.ts';
import { allocation, type NodeParts, NodeWorld } from './node-world.ts';

const folder = '/var/ledger';
const ledger = join(import.meta.dirname, 'ledger');

/** A platform with one node, whose only app writes down what its steps do. */
export class World extends NodeWorld {
  /** `clock`: whether the clock of the node can be set. */
  static async start({ clock }: { readonly clock: boolean }): Promise<World> {
    const parts = await NodeWorld.parts({ clock }, async (host) => host.write(`${folder}/record`, ''));
    try {
      const adapter = parts.plane.network.start('adapter', [process.execPath, join(ledger, 'adapter.mjs')]);
      parts.owned.defer(() => adapter.stop());
      await adapter.waitUntil('it listens', () => adapter.output.includes('listening'));
      await install(parts);
    } catch (error) {
      await parts.owned.disposeAsync();
      throw error;
    }
    return new World(parts);
  }

  get marks(): Marks {
    return new Marks(this.machine.host, folder);
  }

  /** How many times a step of an instance has begun. */
  begun(instance: string, step: string): number {
    return this.marks.count(`begin ${instance} ${step}`);
  }

  create(name: string, parameters: JsonObject): Promise<void> {
    return this.tenant.create(name, { app: 'ledger', placement: { allocation_ids: [allocation] }, parameters });
  }
}

async function install({ plane: { platform } }: NodeParts): Promise<void> {
  const content = readFileSync(join(ledger, 'step.sh'), 'utf8');
  await platform
    .resource<NodeScript>(nodeScriptKind)
    .create(newObject(nodeScriptKind, { metadata: { name: 'ledger-step' }, spec: { content } }));
  const allocations = { type: 'array', items: { type: 'string', format: 'allocation' } };
  const spec = {
    displayName: 'A ledger',
    support: 'community',
    adapter: { url: 'http://127.0.0.1:8090' },
    versions: [{ name: '1' }],
    placement: { type: 'object', required: ['allocation_ids'], properties: { allocation_ids: allocations } },
    parameters: { type: 'object', properties: { deadline: { type: 'string' }, text: { type: 'string' } } },
    components: [{ name: 'server', title: 'Servers', minimum: 1 }],
    permitted: { scripts: [{ name: 'ledger-step' }] },
  };
  await platform.resource<App>(appKind).create(newObject(appKind, { metadata: { name: 'ledger' }, spec } as never) as App);
}
