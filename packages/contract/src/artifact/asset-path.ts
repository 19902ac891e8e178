/** Paths of the files of a version. */
import { Type } from 'typebox';

export const assetNameLimitBytes = 1_024;
/** Files of one version, and so paths in an answer. */
export const assetLimit = 10_000;

export const AssetPath = Type.String({ maxLength: assetNameLimitBytes });
/** Of a version. */
export const Digest = Type.String({ maxLength: 64, description: 'The SHA-256 of the list of files' });
export const AssetPaths = Type.Array(AssetPath, { maxItems: assetLimit });
