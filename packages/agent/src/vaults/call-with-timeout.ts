/** Limits the time of a vendor library's call, even if the library ignores the signal or retries. */
import { VaultError, vaultCallMilliseconds } from './vault.ts';

/**
 * Throws `timeout` if the time is over or the caller aborts. Other errors of the library are converted by
 * `createError`.
 */
export async function callWithTimeout<Result>(
  { signal, vaultName }: { signal: AbortSignal; vaultName: string },
  work: (abortSignal: AbortSignal) => Promise<Result>,
  createError: (error: unknown) => VaultError,
): Promise<Result> {
  const abortSignal = AbortSignal.any([signal, AbortSignal.timeout(vaultCallMilliseconds)]);
  const late = Promise.withResolvers<never>();
  const giveUp = () => late.reject(new VaultError('timeout', vaultName));
  abortSignal.addEventListener('abort', giveUp, { once: true });
  if (abortSignal.aborted) giveUp();
  try {
    return await Promise.race([late.promise, work(abortSignal)]);
  } catch (error) {
    if (abortSignal.aborted) throw new VaultError('timeout', vaultName);
    throw error instanceof VaultError ? error : createError(error);
  } finally {
    abortSignal.removeEventListener('abort', giveUp);
  }
}
