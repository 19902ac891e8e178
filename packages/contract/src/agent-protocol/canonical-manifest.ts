/** The canonical form of a manifest. */
import type { ArtifactManifest } from './artifact-manifest.ts';

/**
 * The canonical form of a manifest: a line a file, in the order of their paths (by UTF-16 code unit). Its
 * SHA-256 in hexadecimal is the digest that names the artifact, so an agent can verify the manifest that it got.
 */
export function canonicalManifest(files: ArtifactManifest['files']): string {
  return files.toSorted(byPath).map(canonicalLine).join('');
}

type ManifestFile = ArtifactManifest['files'][number];

/** The order of files in a manifest, for `sort`: no two have the same path. */
export function byPath(one: ManifestFile, other: ManifestFile): number {
  return one.path < other.path ? -1 : 1;
}

/** What a manifest's canonical form says of a file. */
export function canonicalLine({ path, sha256, size }: ManifestFile): string {
  return `${sha256} ${size} ${path}\n`;
}
