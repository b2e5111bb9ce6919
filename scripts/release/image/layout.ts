import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { type Entry, tar, textEntry } from '@capstan/node-agent';

export interface ImageDescription {
  /** With its tag. */
  readonly name: string;
  /** From the lowest to the highest. */
  readonly layers: readonly (readonly Entry[])[];
  /** `amd64` or `arm64`. */
  readonly architecture: string;
  /** The `config` of an OCI image configuration. */
  readonly run: object;
  readonly created: Date;
}

interface Blob {
  readonly digest: string;
  readonly bytes: Buffer;
}

/**
 * The image as an archive of an OCI image layout. It also contains the `manifest.json` of `docker save`, for older versions of Docker
 * without support for layouts. The same description produces the same bytes.
 */
export function imageArchive({ name, layers, architecture, run, created }: ImageDescription): {
  readonly archive: Buffer;
  readonly digest: string;
} {
  const plain = layers.map((entries) => tar(entries));
  const packed = plain.map((layer) => blob(gzipSync(layer)));
  const configuration = json({
    created: created.toISOString(),
    architecture,
    os: 'linux',
    config: run,
    rootfs: { type: 'layers', diff_ids: plain.map((layer) => blob(layer).digest) },
  });
  const manifest = json({
    schemaVersion: 2,
    mediaType: 'application/vnd.oci.image.manifest.v1+json',
    config: descriptor('application/vnd.oci.image.config.v1+json', configuration),
    layers: packed.map((layer) => descriptor('application/vnd.oci.image.layer.v1.tar+gzip', layer)),
  });
  const index = {
    schemaVersion: 2,
    mediaType: 'application/vnd.oci.image.index.v1+json',
    manifests: [
      {
        ...descriptor('application/vnd.oci.image.manifest.v1+json', manifest),
        platform: { architecture, os: 'linux' },
        annotations: { 'org.opencontainers.image.ref.name': name, 'io.containerd.image.name': name },
      },
    ],
  };
  const saved = [{ Config: pathOf(configuration), RepoTags: [name], Layers: packed.map(pathOf) }];
  const blobs = [...packed, configuration, manifest].map((one): Entry => ({ path: pathOf(one), type: 'file', content: one.bytes }));
  const archive = tar([
    textEntry('oci-layout', '{"imageLayoutVersion":"1.0.0"}'),
    textEntry('index.json', JSON.stringify(index)),
    textEntry('manifest.json', JSON.stringify(saved)),
    ...blobs,
  ]);
  return { archive, digest: manifest.digest };
}

function blob(bytes: Buffer): Blob {
  return { bytes, digest: `sha256:${createHash('sha256').update(bytes).digest('hex')}` };
}

function json(value: unknown): Blob {
  return blob(Buffer.from(JSON.stringify(value)));
}

function descriptor(mediaType: string, { digest, bytes }: Blob): object {
  return { mediaType, digest, size: bytes.length };
}

function pathOf({ digest }: Blob): string {
  return `blobs/${digest.replace(':', '/')}`;
}
