import type { Connection as Address } from '@capstan/testbed';
import { mustAsk } from '../client/ask.ts';
import { exportsIn, Offer, schemasIn } from './exports.ts';
import { makeParent } from './workspaces.ts';

const typesPath = '/clusters/root/apis/tenancy.kcp.io/v1alpha1/workspacetypes';

/** Creates a type that extends `project` and binds this many products, each with one small kind; returns its name. */
export async function makeProjectType(address: Address, products: number): Promise<string> {
  const { path, name } = await makeParent(address);
  const offers = Array.from({ length: products }, (_, index) => new Offer(index));
  for (const offer of offers) {
    await mustAsk(address, { method: 'POST', path: schemasIn(path), body: offer.schemaBody() });
    await mustAsk(address, { method: 'POST', path: exportsIn(path), body: offer.exportBody() });
  }
  const spec = {
    extend: { with: [{ name: 'project', path: 'root' }] },
    defaultAPIBindingLifecycle: 'Maintain',
    defaultAPIBindings: offers.map((offer) => ({ path, export: offer.name })),
  };
  const type = { apiVersion: 'tenancy.kcp.io/v1alpha1', kind: 'WorkspaceType', metadata: { name: `of-${name}` }, spec };
  await mustAsk(address, { method: 'POST', path: typesPath, body: JSON.stringify(type) });
  return type.metadata.name;
}
