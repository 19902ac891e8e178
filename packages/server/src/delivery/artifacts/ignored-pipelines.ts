/**
 * Pipeline files that an upload ignored. They are stored with the version, so that starting one repeats the
 * reason (docs/adr/0035).
 */
import { type IgnoredPipeline, ignoredReasonLimit } from '@headgate/contract';
import type { Upload } from './upload/collection.ts';

/** Limit of the files stored of one version. */
const keptLimit = 1_000;

/** The value of a column `ignored_pipelines`. */
export function renderIgnoredPipelines({ unreadable }: Upload): string {
  const shown = unreadable.slice(0, keptLimit).map(
    ({ path, reason, line }): IgnoredPipeline => ({
      path,
      ...(line === undefined ? {} : { line }),
      // PostgreSQL stores neither NUL nor lone surrogates, which cutting a text can leave.
      reason: reason.slice(0, ignoredReasonLimit).replaceAll('\0', '').toWellFormed(),
    }),
  );
  return JSON.stringify(shown);
}
