/** Publishes the tree of a commit, for a request and for a delivery rule alike. */
import { requireRow } from '../../kernel/database/database.ts';
import type { ReadCall } from '../../kernel/endpoint/endpoint.ts';
import { problem } from '../../kernel/http/problems.ts';
import {
  addGateErrors,
  createCollection,
  createPipelineChecks,
  environmentToUploadTo,
  judgeReferences,
  listNamesBy,
  type PipelineReader,
  type Publication,
  type UploadLimits,
} from '../artifacts/index.ts';
import type { Blobs } from '../blobs/index.ts';
import type { GitRepository } from '../git/index.ts';
import { createRetainedFiles, type Reviewer } from '../quality-rules/index.ts';
import { collectTree } from './git-tree.ts';

export interface PublishingServices {
  review: Reviewer;
  blobs: Blobs;
  readPipeline: PipelineReader;
  config: { upload: UploadLimits };
}

export interface CommitToPublish {
  accountId: string;
  projectId: string;
  environmentName: string;
  versionName: string;
  branch: string | null;
  commit: string;
  isStrict: boolean;
}

/**
 * Reads and checks the files, and calls `store` with what its transaction must write. Throws
 * `environment-not-found`, `git-tree-refused`, `quality-gate-refused`, `review-too-large` and what `rows` and `store`
 * throw.
 */
export async function publishCommit<Result>(
  services: PublishingServices,
  repository: GitRepository,
  rows: ReadCall<never>['rows'],
  expected: CommitToPublish,
  store: (publication: Publication) => Promise<Result>,
): Promise<Result> {
  const { accountId, projectId, environmentName, commit } = expected;
  const found = await rows(environmentToUploadTo, { environment_name: environmentName });
  const missing = () => problem('environment-not-found', { name: environmentName });
  const { newest_manifest: base, ...gate } = requireRow(found, missing);
  const reviewed = gate.quality_gate === 'NONE' ? undefined : createRetainedFiles();
  return services.blobs.writeBlobs(accountId, base, async (writer) => {
    const checks = createPipelineChecks(services.readPipeline, accountId);
    const collection = createCollection(writer, checks, reviewed?.retain);
    await collectTree(repository, commit, collection, services.config.upload);
    const upload = await collection.finish();
    const judged = await judgeReferences(listNamesBy(rows), checks, upload);
    const taken = { accountId, projectId, environmentName, versionName: expected.versionName, gate };
    const checked = await addGateErrors(services.review, taken, reviewed, judged);
    const version = {
      projectId,
      environmentName,
      versionName: expected.versionName,
      branch: expected.branch,
      commitHash: commit,
    };
    return store({ version, upload, checked, gate, isStrict: expected.isStrict });
  });
}
