import { type GPUUnit, gpuUnitKind } from '@capstan/api';

/** A unit as the server stores a new one: with all defaults. */
export function unitWith(spec: Partial<GPUUnit['spec']> = {}, rest: Partial<GPUUnit> = {}): GPUUnit {
  return {
    apiVersion: `${gpuUnitKind.group}/${gpuUnitKind.version}`,
    kind: gpuUnitKind.kind,
    metadata: { name: 'unit', namespace: 'default', uid: 'u', generation: 1 },
    spec: {
      offering: 'any',
      nodes: 1,
      priority: 0,
      command: ['true'],
      tty: false,
      network: 'Isolated',
      restartPolicy: 'Never',
      stopGrace: '10s',
      upload: false,
      running: true,
      onNodeLoss: 'Wait',
      fenceAfter: '5m',
      ...spec,
    },
    ...rest,
  };
}
