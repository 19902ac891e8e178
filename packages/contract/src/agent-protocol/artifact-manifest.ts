/** The manifest of an artifact version. */
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
