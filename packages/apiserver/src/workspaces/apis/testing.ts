import type { KubeObject } from '@capstan/machinery';

/** A schema of the kind that kcp's own tests share. */
export function cowboys(prefix = 'today', properties: object = {}): KubeObject {
  const intent = { type: 'object', properties: { intent: { type: 'string' }, ...properties } };
  const result = { type: 'object', properties: { result: { type: 'string' } } };
  return {
    apiVersion: 'apis.kcp.io/v1alpha1',
    kind: 'APIResourceSchema',
    metadata: { name: `${prefix}.cowboys.wildwest.dev` },
    spec: {
      group: 'wildwest.dev',
      names: { plural: 'cowboys', singular: 'cowboy', kind: 'Cowboy', listKind: 'CowboyList' },
      scope: 'Namespaced',
      versions: [
        {
          name: 'v1alpha1',
          served: true,
          storage: true,
          schema: { type: 'object', properties: { spec: intent, status: result } },
          subresources: { status: {} },
        },
      ],
    },
  };
}

export function apiExport(name: string, resource: object = {}, spec: object = {}): KubeObject {
  const cowboy = { group: 'wildwest.dev', name: 'cowboys', schema: 'today.cowboys.wildwest.dev', storage: { crd: {} } };
  return {
    apiVersion: 'apis.kcp.io/v1alpha2',
    kind: 'APIExport',
    metadata: { name },
    spec: { resources: [{ ...cowboy, ...resource }], ...spec },
  };
}

export function apiBinding(name: string, path: string, spec: object = {}): KubeObject {
  return {
    apiVersion: 'apis.kcp.io/v1alpha2',
    kind: 'APIBinding',
    metadata: { name },
    spec: { reference: { export: { path, name } }, ...spec },
  };
}
