/** Problems and events of artifacts; those of uploads are shared with shared pipelines. */
import { kind, quoted } from '../outcomes/problem-kind.ts';
import type { Outcomes } from '../outcomes/sum-of-outcomes.ts';

const uploadProblems = {
  'invalid-upload': kind<{ reason: string }>(
    400,
    'The multipart form is invalid.',
    ({ reason }) => `The upload cannot be read: ${reason}`,
  ),
  'invalid-asset-name': kind<{ name: string; reason: string }>(
    400,
    'The name of a part is not a valid file path: it is absolute, leaves the folder, appears twice, or is the folder of another part.',
    ({ name, reason }) => `The part named ${quoted(name)} cannot be stored: ${reason}`,
  ),
  'strict-upload-refused': kind<{ errors: number; listed: number }>(
    422,
    'The upload is strict, and a pipeline file cannot be read or has an error. Nothing was stored.',
    ({ errors, listed }) =>
      `Nothing was stored: the upload is strict, and its pipelines have ${errors} ${errors === 1 ? 'error' : 'errors'}; \`violations\` lists ${listed < errors ? `the first ${listed}` : 'them'}.`,
  ),
  'empty-upload': kind<{ ignored: number; listed: number }>(
    422,
    'The form has no parts, or none that can be stored. Nothing was stored.',
    ({ ignored, listed }) =>
      ignored === 0
        ? 'Nothing was stored: the form has no parts. Send one part for each file.'
        : `Nothing was stored: no part of the form can be stored, and ${ignored} ${ignored === 1 ? 'was' : 'were'} ignored; \`violations\` lists ${listed < ignored ? `the first ${listed}` : 'the reasons'}.`,
  ),
} as const;

export const artifactOutcomes = {
  events: ['artifact-created', 'artifact-promoted', 'artifact-updated'],
  problems: {
    ...uploadProblems,
    'artifact-not-found': kind<{ what: string }>(
      404,
      'The environment has no such version, or no enabled version.',
      ({ what }) => what,
    ),
    'artifact-disabled': kind<{ versionName: string; environmentName: string }>(
      410,
      'The version is disabled in the environment.',
      ({ versionName, environmentName }) =>
        `The version ${quoted(versionName)} is disabled in the environment ${quoted(environmentName)}.`,
    ),
    'asset-not-found': kind<{ path: string; versionName: string }>(
      404,
      'The version has no file at this path.',
      ({ path, versionName }) =>
        `The version ${quoted(versionName)} has no file ${quoted(path)}; the path must be exactly as it was uploaded.`,
    ),
    'version-exists': kind<{ versionName: string; environmentName: string; advice?: string }>(
      409,
      'The environment already has this version. Versions are immutable: use another name.',
      ({ versionName, environmentName, advice = '' }) =>
        `The version ${quoted(versionName)} already exists in the environment ${quoted(environmentName)}; versions are immutable: use another versionName.${advice}`,
    ),
    'promotion-to-itself': kind<{ name: string }>(
      422,
      'The source and the target of the promotion are the same environment.',
      ({ name }) =>
        `The source and the target are both the environment ${quoted(name)}: name another target.`,
    ),
  },
} as const satisfies Outcomes;
