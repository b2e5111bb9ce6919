import { expect, test } from 'vitest';
import { bootstrapKubeconfig, tokenSecret } from './kubelet-token.ts';

test('a token is a secret of the type that Kubernetes has for them', () => {
  const expiration = new Date('2026-01-02T03:04:05.678Z');
  expect(tokenSecret({ id: 'abcdef', secret: '0123456789abcdef' }, { expiration, description: 'rack 7' })).toMatchObject({
    metadata: { name: 'bootstrap-token-abcdef', namespace: 'kube-system' },
    type: 'bootstrap.kubernetes.io/token',
    stringData: {
      'token-id': 'abcdef',
      'token-secret': '0123456789abcdef',
      expiration: '2026-01-02T03:04:05Z',
      'usage-bootstrap-authentication': 'true',
      'auth-extra-groups': 'system:bootstrappers:capstan:kubelets',
      description: 'rack 7',
    },
  });
});

test('the kubeconfig of a kubelet has the server, its authority and the token', () => {
  const config = JSON.parse(bootstrapKubeconfig({ server: 'https://a:6443', ca: 'PEM' }, 'abcdef.0123456789abcdef'));
  expect(config.clusters[0].cluster).toEqual({ server: 'https://a:6443', 'certificate-authority-data': 'UEVN' });
  expect(config.users[0].user).toEqual({ token: 'abcdef.0123456789abcdef' });
});
