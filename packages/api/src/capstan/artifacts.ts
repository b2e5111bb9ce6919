/**
 * Below it, files that the owner gives to nodes, by their SHA-256:
 * `PUT /capstan/artifacts/<sha256>?offset=<bytes before>&size=<of the file>&name=<for people>` appends a part, `GET` serves the file or a range of it, `DELETE` removes it.
 * Agents may only get a file.
 */
export const artifactsPath = '/capstan/artifacts/';

/** `GET` lists all of them. */
export const artifactListPath = '/capstan/artifacts';

export const artifactPath = (sha256: string): string => `${artifactsPath}${sha256}`;

/** In bytes, of one request. */
export const largestArtifactPart = 4 << 20;

/** A file for nodes. */
export interface Artifact {
  readonly sha256: string;
  /** Name for people; several artifacts may have the same. */
  readonly name: string;
  /** In bytes. */
  readonly size: number;
  readonly addedAt: string;
}

/** Response to a list. */
export interface ArtifactList {
  readonly artifacts: readonly Artifact[];
}

/** Response to a part. If `size` is not the end of the part, nothing was stored: the server has so many bytes, and expects those after them. */
export interface ArtifactPartStored {
  readonly size: number;
  /** Whether the file is complete and has the SHA-256 of its name. */
  readonly complete: boolean;
}
