/** The manifest of an artifact version, and its canonical form. */
import { type Static, Type } from 'typebox';
import { OpaqueId } from '../primitives.ts';

export const ArtifactManifest = Type.Object({
  digest: OpaqueId,
  files: Type.Array(
    Type.Object({
      path: Type.String({ minLength: 1, maxLength: 1_024 }),
      sha256: Type.String({ minLength: 64, maxLength: 64 }),
      size: Type.Integer({ minimum: 0 }),
    }),
    { maxItems: 10_000 },
  ),
});
export type ArtifactManifest = Static<typeof ArtifactManifest>;

/**
 * The canonical form of a manifest: a line a file, in the order of their paths (by UTF-16 code unit). Its
 * SHA-256 in hexadecimal is the digest that names the artifact, so whoever fetched one can verify it.
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
