export interface ResourceOptions {
  readonly apiVersion: string;
  readonly kind: string;
  /** As many as the schema has. */
  readonly sections: number;
}

/**
 * Generates bodies of custom resources that the definition's schema accepts: with ten sections, about 4 KB each. They differ only in the
 * name.
 */
export function resourceBodies({ apiVersion, kind, sections }: ResourceOptions): (name: string) => string {
  const named = Array.from({ length: sections }, (_, index) => [`section${index}`, section(index)] as const);
  const spec = JSON.stringify({ class: 'critical', replicas: 3, serial: 'AB-123456', maximum: 500, ...Object.fromEntries(named) });
  const head = `{"apiVersion":"${apiVersion}","kind":"${kind}","metadata":{"name":"`;
  return (name) => `${head}${name}"},"spec":${spec}}`;
}

/** A merge patch of two fields, one of them in a section, which triggers the rules again. */
export function resourcePatch(step: number): string {
  return `{"spec":{"replicas":${2 + (step % 400)},"section0":{"level":${step % 100}}}}`;
}

// Mode, storage and the protocol of one port are omitted, so that they are defaulted.
function section(index: number): object {
  return {
    name: `part-${index}`,
    description: 'Keeps the work of one tenant away from that of all others, also when it grows.',
    level: 10 + index,
    weight: 0.25,
    size: index % 2 === 0 ? 5 : '50%',
    labels: { tier: 'front', team: 'harbour' },
    tags: ['one', 'two', 'three'],
    limits: { cpu: '500m', memory: '128Mi' },
    ports: [
      { name: 'web', protocol: 'TCP', port: 8080 + index, share: 60 },
      { name: 'metrics', port: 9090 + index, share: 40 },
    ],
  };
}
