const condition = { lastTransitionTime: '2026-01-01T00:00:00Z', reason: 'Deployed', message: '' };
const report = { source: 'account', reportedAt: '2026-01-01T00:00:00Z', expiresAt: '2026-01-01T00:05:00Z' };
const kind = (name: string) => ({ apiVersion: 'apps.capstan.dev/v1alpha1', kind: name });
const metadata = (name: string) => ({ name, namespace: 'default', uid: name, creationTimestamp: '2026-01-01T00:00:00Z' });

/** An instance of an app as the platform would report it, which reports something itself too. */
export const appInstance = {
  ...kind('AppInstance'),
  metadata: metadata('lab'),
  spec: { app: 'slurm', placement: {}, stopped: false, paused: false },
  status: {
    state: 'running',
    health: 'healthy',
    phase: 'ready',
    version: '25.05',
    revision: 'a',
    members: { total: 1, healthy: 1 },
    conditions: [{ ...condition, type: 'Ready', status: 'True' }],
    constraints: [{ action: 'repair', reason: 'Busy', message: 'Another operation runs' }],
    reported: { ...report, phase: 'training', progress: { completed: 3, total: 10 }, message: 'epoch 3' },
  },
};

export const appMember = {
  ...kind('AppMember'),
  metadata: metadata('lab-head'),
  spec: { instance: 'lab', component: 'controller', node: 'gpu-1', allocation: 'head' },
  status: { state: 'running', health: 'healthy', reported: { ...report, healthy: false, message: 'no quorum' } },
};

export const appOperation = {
  ...kind('AppOperation'),
  metadata: metadata('lab-deploy-1'),
  spec: { instance: 'lab', type: 'deploy', dryRun: false, cancelled: false },
};
