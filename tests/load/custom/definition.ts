/** A structural schema of a CustomResourceDefinition, as far as the load tool needs it. */
export interface Schema {
  readonly type?: 'object' | 'array' | 'string' | 'integer' | 'number' | 'boolean';
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly additionalProperties?: Schema;
  readonly [keyword: string]: unknown;
}

export interface DefinitionOptions {
  /** The plural, from which the singular is derived: `gadgets`. */
  readonly plural: string;
  readonly group: string;
  /** Each has 19 fields; the rest of the schema has 10. */
  readonly sections: number;
}

/** Results in a schema of 200 fields. */
export const sectionsOfLargeSchema = 10;

/** A CustomResourceDefinition with one version, a status, and five rules: one about a change, one about the items of a list. */
export function definitionBody({ plural, group, sections }: DefinitionOptions): string {
  const kind = plural[0]!.toUpperCase() + plural.slice(1);
  return JSON.stringify({
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope: 'Namespaced',
      names: { plural, singular: plural.toLowerCase(), kind, listKind: `${kind}List` },
      versions: [{ name: 'v1', served: true, storage: true, subresources: { status: {} }, schema: { openAPIV3Schema: schema(sections) } }],
    },
  });
}

export function schema(sections: number): Schema {
  const named = Array.from({ length: sections }, (_, index) => [`section${index}`, section(index === 0)] as const);
  return {
    type: 'object',
    description: 'Something that a tenant orders.',
    required: ['spec'],
    properties: {
      spec: {
        type: 'object',
        required: ['class', 'replicas', 'serial'],
        properties: {
          class: { type: 'string', enum: ['standard', 'burst', 'critical'], default: 'standard' },
          replicas: { type: 'integer', format: 'int32', minimum: 0, maximum: 1000 },
          serial: {
            type: 'string',
            pattern: '^[A-Z]{2}-[0-9]{4,10}$',
            maxLength: 16,
            'x-kubernetes-validations': [{ rule: 'self == oldSelf', message: 'the serial number cannot be changed' }],
          },
          minimum: { type: 'integer', minimum: 0, default: 1 },
          maximum: { type: 'integer', minimum: 0, default: 1000 },
          ...Object.fromEntries(named),
        },
        'x-kubernetes-validations': [
          {
            rule: 'self.minimum <= self.replicas && self.replicas <= self.maximum',
            message: 'replicas must be between minimum and maximum',
          },
          { rule: "self.class != 'critical' || self.replicas >= 2", message: 'a critical one needs two replicas' },
        ],
      },
      status: {
        type: 'object',
        properties: {
          phase: { type: 'string', enum: ['Pending', 'Ready', 'Failed'] },
          observedGeneration: { type: 'integer', format: 'int64' },
          message: { type: 'string', maxLength: 1024 },
        },
      },
    },
  };
}

function section(withRules: boolean): Schema {
  return {
    type: 'object',
    required: ['name'],
    properties: {
      name: { type: 'string', pattern: '^[a-z0-9]([-a-z0-9]*[a-z0-9])?$', minLength: 1, maxLength: 63 },
      description: { type: 'string', maxLength: 256 },
      mode: { type: 'string', enum: ['Active', 'Passive', 'Off'], default: 'Active' },
      level: { type: 'integer', format: 'int32', minimum: 0, maximum: 100, default: 50 },
      weight: { type: 'number', minimum: 0, maximum: 1 },
      enabled: { type: 'boolean', default: true },
      size: { 'x-kubernetes-int-or-string': true },
      labels: { type: 'object', maxProperties: 16, additionalProperties: { type: 'string', maxLength: 63 } },
      tags: { type: 'array', maxItems: 16, 'x-kubernetes-list-type': 'set', items: { type: 'string', maxLength: 63 } },
      limits: {
        type: 'object',
        properties: {
          cpu: { type: 'string', pattern: '^[0-9]+m?$', maxLength: 16 },
          memory: { type: 'string', pattern: '^[0-9]+(Ki|Mi|Gi)?$', maxLength: 16 },
          storage: { type: 'string', maxLength: 16, default: '1Gi' },
        },
      },
      ports: {
        type: 'array',
        maxItems: 8,
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': ['name', 'protocol'],
        items: {
          type: 'object',
          required: ['name', 'port'],
          properties: {
            name: { type: 'string', minLength: 1, maxLength: 15 },
            protocol: { type: 'string', enum: ['TCP', 'UDP'], default: 'TCP' },
            port: { type: 'integer', format: 'int32', minimum: 1, maximum: 65535 },
            share: { type: 'integer', minimum: 0, maximum: 100 },
          },
        },
        ...(withRules && {
          'x-kubernetes-validations': [
            { rule: 'self.all(entry, entry.port != 22 || entry.protocol == "UDP")', message: 'port 22 is taken' },
          ],
        }),
      },
    },
    ...(withRules && {
      'x-kubernetes-validations': [
        { rule: '!has(self.description) || !self.description.contains(self.name)', message: 'a description must say more than the name' },
      ],
    }),
  };
}
