import { choice, object, type ReadOf, type Rule, text, withDefault } from '../definition/schema.ts';

/** Files that a storage has from the beginning: the fields that a GPUStorage and its NodeVolume have in common. */
export const downloadFields = object(
  'A file of the web. The node downloads it once.',
  {
    url: text(
      'Its address, with http or https. It must not lead to the node itself or to services for machines, such as the metadata of a cloud.',
      {
        minLength: 8,
        maxLength: 2048,
        pattern: '^https?://[^/@\\s]+(/[^\\s]*)?$',
      },
    ),
    sha256: text('SHA-256 of the file, in hexadecimal digits.', { minLength: 64, maxLength: 64, pattern: '^[0-9a-f]{64}$' }),
    unpack: withDefault(
      choice(
        '`None` keeps the file under the last part of its path. `Tar` and `TarGzip` unpack it; the archive and its files must fit at the same time.',
        ['None', 'Tar', 'TarGzip'],
      ),
      'None',
    ),
  },
  { atomic: true },
);

/** An OCI image whose files a storage has from the beginning. */
export const imageField = text(
  'Reference of an OCI image that everybody may pull, such as `ghcr.io/acme/dataset:3`. A node with Podman unpacks its files, which must fit. Links in it must not lead out of it.',
  { minLength: 1, maxLength: 512, pattern: '^[A-Za-z0-9][A-Za-z0-9._/:@-]*$' },
);

/** A preparation has exactly one of these fields, or an image, which came later: the rule must accept what was stored before. */
export const oneSourceOf = (...fields: readonly string[]): Rule => ({
  rule: `[${fields.map((field) => `has(self.${field})`).join(', ')}].filter(x, x).size() == 1 || has(self.image)`,
  message: `must have exactly one of ${fields.join(', ')} and image`,
});

export type StorageDownload = ReadOf<typeof downloadFields>;
