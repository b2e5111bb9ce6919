import type { NodeUnit, NodeUnitSpec } from '@capstan/api';

const owner = { cluster: 'c1', namespace: 'default', name: 'train', uid: 'u1' };

/** A NodeUnit as the agent reads it. */
export function nodeUnit(name: string, spec: Partial<NodeUnitSpec> = {}, { generation = 1, uid = `uid-${name}` } = {}): NodeUnit {
  return {
    apiVersion: 'fleet.capstan.dev/v1alpha1',
    kind: 'NodeUnit',
    metadata: { name, uid, generation, namespace: 'node-n1' },
    spec: {
      owner,
      run: 1,
      allocation: `allocation-${name}`,
      devices: [],
      cpu: 0,
      memory: 0,
      exclusive: false,
      rank: 0,
      command: ['true'],
      tty: false,
      network: 'Isolated',
      restartPolicy: 'Never',
      stopGrace: '2s',
      upload: false,
      secrets: false,
      stopped: false,
      ...spec,
    },
  };
}
