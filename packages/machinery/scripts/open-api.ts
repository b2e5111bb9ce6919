/** The parts of kube-apiserver's OpenAPI v3 schemas that we use. */
export interface OpenApiProperty {
  readonly default?: unknown;
  readonly items?: OpenApiProperty;
  readonly additionalProperties?: OpenApiProperty;
  readonly 'x-kubernetes-list-type'?: string;
  readonly 'x-kubernetes-list-map-keys'?: readonly string[];
  readonly 'x-kubernetes-map-type'?: string;
  readonly 'x-kubernetes-patch-strategy'?: string;
  readonly 'x-kubernetes-patch-merge-key'?: string;
}

export interface GroupVersionKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

export interface OpenApiSchema {
  readonly properties?: Readonly<Record<string, OpenApiProperty>>;
  readonly required?: readonly string[];
  readonly 'x-kubernetes-map-type'?: string;
  readonly 'x-kubernetes-group-version-kind'?: readonly GroupVersionKind[];
}

export type OpenApiSchemas = ReadonlyMap<string, OpenApiSchema>;

/** Built-in groups have no dot or end in k8s.io; all others come from custom resources. */
export function isBuiltIn(group: string): boolean {
  return !group.includes('.') || group.endsWith('.k8s.io');
}

/** The schemas of every built-in group and version that the server serves. */
export async function fetchSchemas(get: (path: string) => Promise<unknown>): Promise<OpenApiSchemas> {
  const index = (await get('/openapi/v3')) as { paths: Record<string, { serverRelativeURL: string }> };
  const schemas = new Map<string, OpenApiSchema>();
  for (const [path, { serverRelativeURL }] of Object.entries(index.paths)) {
    const [root, group, version] = path.split('/');
    if (root === 'apis' ? version === undefined || !isBuiltIn(group!) : root !== 'api' || group === undefined) continue;
    const document = (await get(serverRelativeURL)) as { components: { schemas: Record<string, OpenApiSchema> } };
    for (const [name, schema] of Object.entries(document.components.schemas)) schemas.set(name, schema);
  }
  return schemas;
}
