import type { ImageDescription } from '../kubelets/images.ts';

/** The resource of Kubernetes' sample device plugin, which has two devices on each node. */
export const sampleResource = 'example.com/resource';

const image = 'capstan.test/device-plugin:1';

export const devicePluginImage = (program: string): ImageDescription => ({
  names: [image],
  programs: { 'usr/local/bin/device-plugin': program },
  entrypoint: ['/usr/local/bin/device-plugin'],
});

/** The plugin on every node, as the makers of GPUs deploy theirs. */
export const devicePluginManifest = {
  apiVersion: 'apps/v1',
  kind: 'DaemonSet',
  metadata: { name: 'device-plugin', namespace: 'kube-system' },
  spec: {
    selector: { matchLabels: { app: 'device-plugin' } },
    template: {
      metadata: { labels: { app: 'device-plugin' } },
      spec: {
        terminationGracePeriodSeconds: 0,
        tolerations: [{ operator: 'Exists' }],
        containers: [
          {
            name: 'device-plugin',
            image,
            securityContext: { privileged: true },
            volumeMounts: [
              { name: 'sockets', mountPath: '/var/lib/kubelet/device-plugins' },
              { name: 'devices', mountPath: '/tmp' },
            ],
          },
        ],
        volumes: [
          { name: 'sockets', hostPath: { path: '/var/lib/kubelet/device-plugins', type: 'Directory' } },
          { name: 'devices', hostPath: { path: '/tmp', type: 'Directory' } },
        ],
      },
    },
  },
};
