import { schema } from '../custom/definition.ts';

const apis = 'apis.kcp.io/v1alpha2';
const pathIn = (workspace: string, resource: string, version: string): string =>
  `/clusters/${workspace}/apis/apis.kcp.io/${version}/${resource}`;

export const schemasIn = (workspace: string): string => pathIn(workspace, 'apiresourceschemas', 'v1alpha1');
export const exportsIn = (workspace: string): string => pathIn(workspace, 'apiexports', 'v1alpha2');
export const bindingsIn = (workspace: string): string => pathIn(workspace, 'apibindings', 'v1alpha2');

/** One of many exports, with one kind each. */
export class Offer {
  readonly name: string;
  readonly plural: string;
  readonly group: string;

  constructor(index: number) {
    this.name = `offer-${index}`;
    this.plural = `orders${index}`;
    this.group = `offer-${index}.load.example`;
  }

  schemaBody(): string {
    const { plural, group } = this;
    const kind = plural[0]!.toUpperCase() + plural.slice(1);
    return JSON.stringify({
      apiVersion: 'apis.kcp.io/v1alpha1',
      kind: 'APIResourceSchema',
      metadata: { name: `v1.${plural}.${group}` },
      spec: {
        group,
        scope: 'Namespaced',
        names: { plural, singular: plural, kind, listKind: `${kind}List` },
        versions: [{ name: 'v1', served: true, storage: true, subresources: { status: {} }, schema: schema(2) }],
      },
    });
  }

  exportBody(): string {
    const { name, plural, group } = this;
    const resources = [{ group, name: plural, schema: `v1.${plural}.${group}`, storage: { crd: {} } }];
    return JSON.stringify({ apiVersion: apis, kind: 'APIExport', metadata: { name }, spec: { resources } });
  }

  bindingBody(provider: string): string {
    const { name } = this;
    const reference = { export: { path: provider, name } };
    return JSON.stringify({ apiVersion: apis, kind: 'APIBinding', metadata: { name: 'offer' }, spec: { reference } });
  }

  /** The path of the objects in a bound workspace. */
  objectsIn(workspace: string): string {
    return `/clusters/${workspace}${this.#objects('namespaces/default/')}`;
  }

  /** The path under which the provider sees the objects of all workspaces. */
  viewFrom(provider: string): string {
    return `/services/apiexport/${provider}/${this.name}/clusters/*${this.#objects('')}`;
  }

  objectBody(name: string): string {
    const { plural, group } = this;
    const kind = plural[0]!.toUpperCase() + plural.slice(1);
    const spec = { replicas: 3, serial: 'AB-123456', section0: { name: 'first' } };
    return JSON.stringify({ apiVersion: `${group}/v1`, kind, metadata: { name }, spec });
  }

  #objects(namespace: string): string {
    return `/apis/${this.group}/v1/${namespace}${this.plural}`;
  }
}
