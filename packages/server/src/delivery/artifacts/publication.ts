/** What an upload and a publication from Git share: the last checks, and the version with its event. */
import { type IgnoredResource, uploadWarningLimit } from '@headgate/contract';
import type { Transaction } from '../../kernel/database/database.ts';
import type { AccountEvent } from '../../kernel/database/events.ts';
import type { GuardedRead } from '../../kernel/security/guarded-read.ts';
import type { Scope } from '../../kernel/security/permissions.ts';
import { warehouseOfProject } from '../../workspace/projects/index.ts';
import { secretReferencesAmong } from '../../workspace/secret-references/index.ts';
import { variablesAmong } from '../../workspace/variables/index.ts';
import {
  type Gate,
  type GatedVersion,
  passGate,
  type RetainedFiles,
  type Reviewer,
  requireUnchangedGate,
} from '../quality-rules/index.ts';
import { insertArtifact, type NewVersion } from './artifact.store.ts';
import type { Checked, PipelineChecks } from './reading/pipeline-checks.ts';
import { requireFiles, requireNoErrors } from './strict-upload.ts';
import type { Upload } from './upload/collection.ts';

/** Each lists those of the names that the project has. */
interface ExistingNames {
  variables(names: string[]): Promise<{ name: string }[]>;
  secrets(names: string[]): Promise<{ name: string }[]>;
  /** Of the project. */
  warehouse(): Promise<{ warehouse: string }[]>;
}

/** Checks the files against each other, and against what the project has. */
export async function judgeReferences(
  existing: ExistingNames,
  checks: PipelineChecks,
  upload: Upload,
): Promise<Checked> {
  const list = async (kind: 'variables' | 'secrets', names: string[]) =>
    names.length === 0 ? [] : (await existing[kind](names)).map(({ name }) => name);
  return checks.check(
    upload.manifest.files.map((file) => file.path),
    await list('variables', checks.listUnknownVariables()),
    await list('secrets', checks.listUnknownSecrets()),
    checks.needsWarehouse() ? (await existing.warehouse())[0]?.warehouse : undefined,
  );
}

/**
 * Reviews the retained files if the gate of the environment asks for it, and adds errors that it only reports to the
 * warnings. Throws `quality-gate-refused` and `review-too-large`.
 */
export async function addGateErrors(
  review: Reviewer,
  version: GatedVersion,
  retained: RetainedFiles | undefined,
  checked: Checked,
): Promise<Checked> {
  if (retained === undefined) return checked;
  const errors = await passGate(review, version, retained.getSource);
  const { warnings, warningsTotal } = checked.summary;
  const summary = {
    warnings: [...warnings, ...errors].slice(0, uploadWarningLimit),
    warningsTotal: warningsTotal + errors.length,
  };
  return { ...checked, summary };
}

type Rows = <Row, Parameters>(
  query: GuardedRead<Row, Parameters>,
  parameters: NoInfer<Parameters>,
) => Promise<Row[]>;

/** Names that the caller may read. */
export function listNamesBy(rows: Rows): ExistingNames {
  return {
    variables: (names) => rows(variablesAmong, { names }),
    secrets: (names) => rows(secretReferencesAmong, { names }),
    warehouse: () => rows(warehouseOfProject, {}),
  };
}

export interface Publication {
  version: NewVersion;
  upload: Upload;
  checked: Checked;
  /** By which the version was judged. */
  gate: Gate;
  /** Errors refuse the whole. */
  isStrict: boolean;
}

export interface Published {
  body: { ignoredResources: IgnoredResource[]; versionName: string } & Checked['summary'];
  events: AccountEvent[];
}

/**
 * Writes the version. Throws `strict-upload-refused`, `empty-upload` and, at the commit, `version-exists` and
 * `concurrent-change`.
 */
export async function publishVersion(
  tx: Transaction,
  scope: Scope,
  { version, upload, checked, gate, isStrict }: Publication,
  now: Date,
): Promise<Published> {
  if (isStrict) requireNoErrors(checked);
  requireFiles(upload);
  requireUnchangedGate(tx, scope.accountId, version, gate);
  await insertArtifact(tx, scope, version, upload, now);
  const { manifest, ignored } = upload;
  const after = {
    ...version,
    digest: manifest.digest,
    files: manifest.files.length,
    ignoredResources: ignored.length,
    warnings: checked.summary.warningsTotal,
  };
  const { projectId, environmentName, versionName } = version;
  const subject = { type: 'artifact', id: versionName, name: versionName };
  return {
    body: { ignoredResources: ignored, versionName, ...checked.summary },
    events: [{ name: 'artifact-created', projectId, environmentName, subject, after }],
  };
}
