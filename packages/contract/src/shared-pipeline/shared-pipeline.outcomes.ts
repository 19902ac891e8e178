/** Problems and events of shared pipelines. */
import { kind, quoted } from '../outcomes/problem-kind.ts';
import type { Outcomes } from '../outcomes/sum-of-outcomes.ts';

export const sharedPipelineOutcomes = {
  events: ['shared-pipelines-created', 'shared-pipelines-updated'],
  problems: {
    'shared-version-not-found': kind<{ prefix: string; versionName: string | undefined }>(
      404,
      'The group of shared pipelines does not exist, or has no such version, or no enabled version.',
      ({ prefix, versionName }) =>
        versionName === undefined
          ? `There is no enabled version of shared pipelines ${quoted(prefix)}; publish or enable one first.`
          : `There is no version ${quoted(versionName)} of shared pipelines ${quoted(prefix)}.`,
    ),
    'shared-version-exists': kind<{ prefix: string; versionName: string }>(
      409,
      'The group of shared pipelines already has this version. Versions are immutable.',
      ({ prefix, versionName }) =>
        `The version ${quoted(versionName)} of shared pipelines ${quoted(prefix)} already exists; versions are immutable: use another versionName.`,
    ),
    'shared-version-without-pipeline': kind(
      422,
      'The form has no pipeline that can be read and shared.',
      () =>
        'None of the files is a pipeline that can be read, so there is nothing to share; `violations` lists the pipelines that cannot be read.',
    ),
  },
} as const satisfies Outcomes;
