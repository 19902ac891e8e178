/**
 * Pipeline files that an upload left out, as they are kept with its version: a start of one repeats the
 * reason (docs/adr/0035).
 */
import { type IgnoredPipeline, ignoredReasonLimit } from '@headgate/contract';
import type { Upload } from './upload.ts';

/** Files that are kept of one version. */
const keptLimit = 1_000;

/** The value of a column `ignored_pipelines`. */
export function renderIgnoredPipelines({ unreadable }: Upload): string {
  const kept = unreadable.slice(0, keptLimit).map(
    ({ path, reason, line }): IgnoredPipeline => ({
      path,
      ...(line === undefined ? {} : { line }),
      // PostgreSQL keeps neither NUL nor lone surrogates, which a cut can leave.
      reason: reason.slice(0, ignoredReasonLimit).replaceAll('\0', '').toWellFormed(),
    }),
  );
  return JSON.stringify(kept);
}
