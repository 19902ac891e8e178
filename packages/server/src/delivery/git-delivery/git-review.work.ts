/**
 * Checks the newest commit of a branch that a pull or merge request wants to merge, by the checks of an upload,
 * and tells the provider by a commit status. A status that cannot be set is tried again, then an event tells.
 */
import { type UploadWarning, uploadWarningLimit } from '@headgate/contract';
import { rulesFilePaths } from '@headgate/pipelines';
import { addSeconds, type Clock } from '../../kernel/clock.ts';
import type { Database } from '../../kernel/database/database.ts';
import { recordEvents } from '../../kernel/database/events.ts';
import type { FailureLog } from '../../kernel/failure-log.ts';
import { Problem } from '../../kernel/http/problems.ts';
import type { NewId } from '../../kernel/identifiers.ts';
import { describeInterruption } from '../../kernel/work/interruption.ts';
import type { Places } from '../../kernel/work/places.ts';
import { type HeldWork, LeaseLost, releaseWork } from '../../kernel/work/server-work.ts';
import type { ServerWorkKind } from '../../kernel/work/server-worker.ts';
import {
  type Checked,
  createCollection,
  createPipelineChecks,
  judgeReferences,
  type PipelineReader,
  type UploadLimits,
} from '../artifacts/index.ts';
import { createDiscardingWriter } from '../blobs/index.ts';
import type { GitRepository } from '../git/index.ts';
import {
  type CommitStatus,
  openInterface,
  type ProviderAddresses,
  ProviderRefused,
  providerAdapters,
} from '../git-providers/index.ts';
import type { Remotes } from '../git-remotes/index.ts';
import {
  createRetainedFiles,
  createUploadWarning,
  listFindings,
  type Reviewer,
  type ReviewResult as ReviewOutcome,
} from '../quality-rules/index.ts';
import { findRepository, type RepositoryPlace, type RepositoryUse } from '../repositories/index.ts';
import { collectTree } from './git-tree.ts';
import {
  type DueReview,
  existingNames,
  finishReview,
  gatedEnvironments,
  type ReviewResult,
  readReview,
  warehouseToCheck,
} from './review.store.ts';
import { renderStatusText } from './status-text.ts';
import { isTransient } from './transient-problem.ts';

interface ProviderServices {
  database: Database;
  remotes: Remotes;
  repositories: RepositoryUse;
  stopping: AbortSignal;
  config: { gitAddresses: ProviderAddresses };
}

/**
 * Sets the status of a commit, unless the repository's provider has none or no credential is stored for it.
 * Throws `ProviderRefused` and the problems of credentials.
 */
async function setCommitStatus(
  { database, remotes, repositories, stopping, config }: ProviderServices,
  place: RepositoryPlace,
  status: CommitStatus,
): Promise<void> {
  const row = await findRepository(database.read, place);
  if (row === undefined || row.clone_url === null || row.provider === 'headgate') return;
  const provider = providerAdapters[row.provider];
  const repository = { cloneUrl: row.clone_url, parameters: row.provider_parameters };
  const credential = await repositories.findCredential(place, row);
  const options = { remotes, addresses: config.gitAddresses, signal: stopping };
  const call = openInterface(options, provider, repository, credential);
  if (call !== undefined) await provider.setCommitStatus?.(call, status);
}

export interface ReviewServices extends ProviderServices {
  clock: Clock;
  failures: FailureLog;
  newId: NewId;
  readPipeline: PipelineReader;
  review: Reviewer;
  config: ProviderServices['config'] & { upload: UploadLimits; publicUrl: string };
}

const statusContext = 'headgate/pipelines';
/** About four hours in all. */
const pauses = [10, 60, 300, 1_200, 3_600, 7_200];
const mostFindings = 100;

/** @param places shared with the deliveries */
export function createReviewWork(services: ReviewServices, places: Places): ServerWorkKind {
  return {
    kind: 'git-review',
    name: 'checks of branches',
    lookMilliseconds: 500,
    leaseSeconds: 120,
    places,
    run: (held, signal, notBefore) => checkReview(services, held, signal, notBefore),
    async setAside(held) {
      const problem = describeInterruption('The check of this branch');
      await endReview(services, await readReview(services.database.read, held), { problem, isGivenUp: true });
    },
  };
}

async function checkReview(
  services: ReviewServices,
  held: HeldWork,
  signal: AbortSignal,
  notBefore: number,
): Promise<void> {
  const review = await readReview(services.database.read, held);
  const place = { accountId: review.account_id, projectId: review.project_id };
  let result: ReviewResult | undefined;
  try {
    // What is fetched from now on has the pushes that woke it.
    result = await services.repositories.withRepository(
      place,
      ({ content }) => judgeHead(services, review, content),
      { notBefore },
    );
    // The branch is gone, and with it what there was to check.
    if (result === undefined) return await endReview(services, review, {});
    await setCommitStatus(services, place, createStatus(services, review, result));
    await endReview(services, review, { result });
  } catch (failure) {
    if (failure instanceof LeaseLost || signal.aborted) throw failure;
    await endFailed(services, review, result, failure);
  }
}

async function judgeHead(
  services: ReviewServices,
  review: DueReview,
  repository: GitRepository,
): Promise<ReviewResult | undefined> {
  const commit = await repository.findCommitId(`refs/heads/${review.branch_name}`);
  if (commit === undefined) return undefined;
  try {
    const { summary, errorsTotal } = await checkTree(services, review, repository, commit);
    return {
      commit,
      outcome: errorsTotal > 0 ? 'failure' : 'success',
      errors: errorsTotal,
      warnings: summary.warningsTotal - errorsTotal,
      findings: summary.warnings.slice(0, mostFindings),
    };
  } catch (failure) {
    // What refuses a publication of this tree is an error of it.
    if (!(failure instanceof Problem) || isTransient(failure)) throw failure;
    const finding = { code: failure.code, level: 'error', message: failure.message };
    return { commit, outcome: 'failure', errors: 1, warnings: 0, findings: [finding] };
  }
}

async function checkTree(
  { readPipeline, review, config, database }: ReviewServices,
  { account_id, project_id }: DueReview,
  repository: GitRepository,
  commit: string,
): Promise<Checked> {
  const checks = createPipelineChecks(readPipeline, account_id);
  const files = createRetainedFiles();
  const collection = createCollection(createDiscardingWriter(), checks, files.retain);
  await collectTree(repository, commit, collection, config.upload);
  const upload = await collection.finish();
  const list = (kind: keyof typeof existingNames, names: string[]) =>
    database.read(existingNames[kind], { account_id, project_id, names });
  const checked = await judgeReferences(
    {
      variables: (names) => list('variables', names),
      secrets: (names) => list('secrets', names),
      warehouse: () => database.read(warehouseToCheck, { account_id, project_id }),
    },
    checks,
    upload,
  );
  const [gated] = await database.read(gatedEnvironments, { account_id, project_id });
  const hasRules = upload.manifest.files.some(({ path }) => rulesFilePaths.some((each) => each === path));
  if (gated === undefined && !hasRules) return checked;
  return addRuleFindings(
    checked,
    await review({ accountId: account_id, projectId: project_id }, files.getSource()),
  );
}

/** Errors and warnings of the rules; what is only worth knowing is not in a commit status. */
function addRuleFindings(checked: Checked, result: ReviewOutcome): Checked {
  const errors = listFindings(result, 'ERROR').map((finding) => createUploadWarning(finding, 'error'));
  const warnings = listFindings(result, 'WARNING').map((finding) => createUploadWarning(finding, 'warning'));
  const { summary } = checked;
  const isError = ({ level }: UploadWarning) => level === 'error';
  const all = [
    ...summary.warnings.filter(isError),
    ...errors,
    ...summary.warnings.filter((each) => !isError(each)),
    ...warnings,
  ];
  const warningsTotal = summary.warningsTotal + errors.length + warnings.length;
  return {
    summary: { warnings: all.slice(0, uploadWarningLimit), warningsTotal },
    errorsTotal: checked.errorsTotal + errors.length,
  };
}

function createStatus(
  { config }: ReviewServices,
  { project_id, branch_name }: DueReview,
  result: ReviewResult,
): CommitStatus {
  const query = new URLSearchParams({ branchName: branch_name });
  return {
    commit: result.commit,
    state: result.outcome,
    description: renderStatusText(result),
    targetUrl: `${config.publicUrl}/dpc/v1/projects/${project_id}/repositories/reviews?${query}`,
    context: statusContext,
  };
}

async function endFailed(
  services: ReviewServices,
  review: DueReview,
  result: ReviewResult | undefined,
  failure: unknown,
): Promise<void> {
  const refusal = failure instanceof ProviderRefused ? failure.finding : undefined;
  const problem =
    failure instanceof Problem || failure instanceof ProviderRefused
      ? failure.message
      : 'The server failed; it tries again.';
  const pause = pauses[review.held.attempts - 1];
  const end = { ...(result === undefined ? {} : { result }), problem };
  if (pause !== undefined) {
    const seconds = Math.max(pause, refusal?.retryAfterSeconds ?? 0);
    await endReview(services, review, { ...end, retryAfterSeconds: seconds });
  } else await endReview(services, review, { ...end, isGivenUp: true });
  if (!(failure instanceof Problem) && refusal === undefined)
    services.failures.recordFailure('the check of a branch', failure, 'the check of a branch failed', {
      workId: review.held.work_id,
    });
}

interface ReviewEnd {
  result?: ReviewResult;
  problem?: string;
  retryAfterSeconds?: number;
  isGivenUp?: boolean;
}

/** Ends the lease. */
async function endReview(services: ReviewServices, review: DueReview, end: ReviewEnd): Promise<void> {
  const { account_id, project_id, branch_name, held } = review;
  const { result, problem, retryAfterSeconds } = end;
  const now = services.clock.now();
  const dueAt = retryAfterSeconds === undefined ? null : addSeconds(now, retryAfterSeconds);
  await services.database.transaction(async (tx) => {
    tx.send(finishReview, {
      ...{ account_id, work_id: held.work_id },
      commit_hash: result?.commit ?? null,
      outcome: result?.outcome ?? null,
      errors: result?.errors ?? null,
      warnings: result?.warnings ?? null,
      findings: result === undefined ? null : JSON.stringify(result.findings),
      problem: problem?.slice(0, 2_000) ?? null,
      now,
    });
    await releaseWork(tx.query, held, { outcome: dueAt === null ? 'done' : 'failed', dueAt, now });
    if (end.isGivenUp !== true) return;
    const source = { accountId: account_id, actorId: null, actorKind: 'system', requestId: null } as const;
    const subject = { type: 'branch', id: branch_name, name: branch_name };
    const after = { branch: branch_name, commitHash: result?.commit, problem };
    const event = { name: 'commit-status-not-set', projectId: project_id, subject, after } as const;
    recordEvents(tx, source, [event], now, services.newId);
  });
}
