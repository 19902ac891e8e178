import {
  type BodyOf,
  createReview,
  type Review,
  type ReviewFinding,
  reviewAnswerLimit,
} from '@headgate/contract';
import { pipelinePath, pipelineTypeOf, type RuleFinding, type ServerFacts } from '@headgate/pipelines';
import { type Database, requireRow } from '../../kernel/database/database.ts';
import type { Endpoints, ReadCall } from '../../kernel/endpoint/endpoint.ts';
import { problem } from '../../kernel/http/problems.ts';
import { renderJson } from '../../kernel/http/render-json.ts';
import { createVersionProblem, createVersionSource } from '../artifacts/index.ts';
import type { Blobs } from '../blobs/index.ts';
import type { Reviewer, ReviewResult, ReviewSource } from '../quality-rules/index.ts';
import {
  type RepositoryUse,
  repositoryOfProject,
  requireHead,
  requireRevision,
} from '../repositories/index.ts';
import { reviewedVersion, schedulesToReview } from './review.store.ts';
import { createFilesSource, createTreeSource } from './review-source.ts';

export interface ReviewServices {
  database: Database;
  blobs: Blobs;
  repositories: RepositoryUse;
  review: Reviewer;
}

type Call = ReadCall<typeof createReview>;
type Request = BodyOf<typeof createReview>;

export function reviewRoutes({ long }: Endpoints, services: ReviewServices): void {
  long(createReview, async (call) => {
    const { body, rows, scope, params } = call;
    const source = await openSource(call, services, requireOneSource(body));
    const environmentName = body.environmentName ?? null;
    const schedules = await rows(schedulesToReview, { environment_name: environmentName });
    const server = describeSchedules(schedules, source);
    const { accountId } = scope;
    const { projectId } = params;
    const result = await services.review({ accountId, projectId }, source, { server });
    return {
      status: 200,
      headers: {},
      body: await renderJson(presentReview(result, source, body.filePaths)),
    };
  });
}

type SourceKind = 'version' | 'branch' | 'files';

/** Throws `review-source`. */
function requireOneSource({
  environmentName,
  versionName,
  branchName,
  commitId,
  files,
}: Request): SourceKind {
  const named = [
    ...(environmentName === undefined && versionName === undefined ? [] : (['version'] as const)),
    ...(branchName === undefined && commitId === undefined ? [] : (['branch'] as const)),
    ...(files === undefined ? [] : (['files'] as const)),
  ];
  const [kind] = named;
  if (kind === undefined) throw problem('review-source', { named: 'nothing to review' });
  if (named.length > 1) throw problem('review-source', { named: `a ${named.join(' and ')}` });
  if (kind === 'version' && environmentName === undefined)
    throw problem('review-source', { named: 'a version without its environment' });
  if (kind === 'branch' && branchName === undefined)
    throw problem('review-source', { named: 'a commit without a branch' });
  return kind;
}

async function openSource(call: Call, services: ReviewServices, kind: SourceKind): Promise<ReviewSource> {
  const { body, rows, scope, params } = call;
  if (kind === 'files') {
    // The rights are checked where the schedules are read.
    return createFilesSource(body.files ?? []);
  }
  if (kind === 'version') {
    const { environmentName: name = '', versionName } = body;
    const found = await rows(reviewedVersion, { environment_name: name, version_name: versionName ?? null });
    const { manifest_digest: digest } = requireRow(found, () => problem('environment-not-found', { name }));
    if (digest === null) throw createVersionProblem(name, versionName);
    return createVersionSource(
      { read: services.database.read, blobs: services.blobs },
      scope.accountId,
      digest,
    );
  }
  const [row] = await rows(repositoryOfProject, {});
  const opened = await services.repositories.open({ ...scope, ...params }, row, {
    notBefore: performance.now(),
  });
  const { branchName = '', commitId } = body;
  const commit =
    commitId === undefined
      ? await requireHead(opened, branchName)
      : await requireRevision(opened, commitId.toLowerCase());
  return createTreeSource(opened.content, commit);
}

/** Schedules may name a pipeline without its extension. */
function describeSchedules(
  rows: readonly { name: string; pipeline_name: string; environment_name: string; has_alert: boolean }[],
  { files }: ReviewSource,
): ServerFacts {
  const paths = new Set(files.map(({ path }) => path));
  return {
    schedules: rows.map(({ name, pipeline_name, environment_name, has_alert }) => ({
      name,
      pipelineName: paths.has(pipeline_name) ? pipeline_name : pipelinePath(pipeline_name, 'orchestration'),
      environmentName: environment_name,
      hasAlert: has_alert,
    })),
  };
}

function presentReview(
  { isPassed, findings }: ReviewResult,
  { files }: ReviewSource,
  filePaths: readonly string[] | undefined,
): Review {
  const pipelines = new Set(
    files.map(({ path }) => path).filter((path) => pipelineTypeOf(path) !== undefined),
  );
  const chosen = filePaths === undefined ? undefined : new Set(filePaths);
  // What is wrong with the rules file concerns every pipeline.
  const shown = [...findings]
    .filter(([path]) => chosen === undefined || chosen.has(path) || !pipelines.has(path))
    .map(([path, found]) => [path, found.map(presentFinding)] as const);
  const findingsTotal = shown.reduce((sum, [, found]) => sum + found.length, 0);
  const isFailed = shown.some(([, found]) => found.some(({ level }) => level === 'ERROR'));
  return {
    reviewStatus: (chosen === undefined ? isPassed : !isFailed) ? 'PASSED' : 'FAILED',
    results: limitFindings(shown, findingsTotal),
    findingsTotal,
    excludedFiles: [...new Set(filePaths)].filter((path) => !pipelines.has(path)),
  };
}

const presentFinding = ({ fix, ...finding }: RuleFinding): ReviewFinding => ({
  ...finding,
  ...(fix === undefined ? {} : { fix: [...fix] }),
});

/** Errors first, where not all have room. */
function limitFindings(
  shown: readonly (readonly [string, Review['results'][string]])[],
  total: number,
): Review['results'] {
  if (total <= reviewAnswerLimit) return Object.fromEntries(shown);
  const limited = new Map<string, Review['results'][string]>();
  let room = reviewAnswerLimit;
  for (const level of ['ERROR', 'WARNING', 'INFO'])
    for (const [path, found] of shown) {
      const alike = found.filter((finding) => finding.level === level).slice(0, room);
      if (alike.length === 0) continue;
      room -= alike.length;
      limited.set(path, [...(limited.get(path) ?? []), ...alike]);
    }
  return Object.fromEntries(limited);
}
