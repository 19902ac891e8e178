/** What keeps the published files, tried before anything relies on it. */
import { type ObjectStore, openObjectStore } from '../delivery/blobs/index.ts';
import { Problem } from '../kernel/http/problems.ts';
import type { Config } from './config.ts';

/** @throws with the setting to look at, when files cannot be written, read and removed there */
export async function openObjects({ objects: settings }: Config): Promise<ObjectStore> {
  const store = await openObjectStore(settings);
  try {
    await store.probe();
    return store;
  } catch (failure) {
    store.close();
    const reason = failure instanceof Problem ? failure.cause : failure;
    const { name, message } = reason instanceof Error ? reason : new Error(String(reason));
    if (settings.kind === 'folder')
      throw new Error(`The folder ${settings.folder} cannot be used for published files: ${message}`);
    throw new Error(
      `The bucket ${JSON.stringify(settings.bucket)} cannot be used for published files: ${name}: ${message || codeOf(reason)}. ${adviceFor(name, codeOf(reason))}`,
    );
  }
}

function codeOf(failure: unknown): string {
  return failure instanceof Error && 'code' in failure ? String(failure.code) : '';
}

/** By the names that S3 gives to its errors. */
function adviceFor(name: string, code: string): string {
  if (name === 'NoSuchBucket') return 'Check HEADGATE_BLOB_BUCKET; the bucket is not made by Headgate.';
  if (['InvalidAccessKeyId', 'SignatureDoesNotMatch', 'CredentialsProviderError'].includes(name))
    return 'Check HEADGATE_BLOB_ACCESS_KEY_ID and HEADGATE_BLOB_SECRET_ACCESS_KEY, or what the AWS SDK finds in their place.';
  if (name === 'AccessDenied')
    return 'The keys may not put, get, list or delete objects below HEADGATE_BLOB_PREFIX: see docs/configuration.md.';
  if (
    ['PermanentRedirect', 'AuthorizationHeaderMalformed', 'IllegalLocationConstraintException'].includes(name)
  )
    return 'Check HEADGATE_BLOB_REGION.';
  if (name === 'TimeoutError' || name === 'AbortError' || code !== '') return 'Check HEADGATE_BLOB_ENDPOINT.';
  return 'Check HEADGATE_BLOB_BUCKET, HEADGATE_BLOB_REGION and HEADGATE_BLOB_ENDPOINT.';
}
