/** Opens the store of published files, and tests it before the server relies on it. */
import { type ObjectStore, openObjectStore } from '../delivery/blobs/index.ts';
import { Problem } from '../kernel/http/problems.ts';
import type { Config } from './config.ts';

/** @throws an error that names the setting to check, if files cannot be written, read and deleted there */
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
      `The bucket ${JSON.stringify(settings.bucket)} cannot be used for published files: ${name}: ${message || getCode(reason)}. ${findAdvice(name, getCode(reason))}`,
    );
  }
}

function getCode(failure: unknown): string {
  return failure instanceof Error && 'code' in failure ? String(failure.code) : '';
}

/** By the error names of S3. */
function findAdvice(name: string, code: string): string {
  if (name === 'NoSuchBucket') return 'Check HEADGATE_BLOB_BUCKET; Headgate does not create the bucket.';
  if (['InvalidAccessKeyId', 'SignatureDoesNotMatch', 'CredentialsProviderError'].includes(name))
    return (
      'Check HEADGATE_BLOB_ACCESS_KEY_ID and HEADGATE_BLOB_SECRET_ACCESS_KEY, ' +
      'or the credentials that the AWS SDK finds instead.'
    );
  if (name === 'AccessDenied')
    return (
      'The keys lack the permission to put, get, list or delete objects below HEADGATE_BLOB_PREFIX: ' +
      'see docs/configuration.md.'
    );
  if (
    ['PermanentRedirect', 'AuthorizationHeaderMalformed', 'IllegalLocationConstraintException'].includes(name)
  )
    return 'Check HEADGATE_BLOB_REGION.';
  if (name === 'TimeoutError' || name === 'AbortError' || code !== '') return 'Check HEADGATE_BLOB_ENDPOINT.';
  return 'Check HEADGATE_BLOB_BUCKET, HEADGATE_BLOB_REGION and HEADGATE_BLOB_ENDPOINT.';
}
