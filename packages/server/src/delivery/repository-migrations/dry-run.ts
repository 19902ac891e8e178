/** `?dryRun=true`: the preflight in the request. It changes nothing, and is bounded in time. */
import { createHash } from 'node:crypto';
import type { MigrationMode } from '@headgate/contract';
import { problem } from '../../kernel/http/problems.ts';
import { checkBefore, type Preflight } from './git/preflight.ts';
import { countRefs } from './git/ref-rules.ts';
import { makePlace, openSource, openTarget, type Project, type TargetPlan } from './hosts.ts';
import type { MigrationServices } from './migration-work.ts';
import { hasPushedBefore } from './store/migration-work.store.ts';
import { readSource } from './store/moved-repository.store.ts';

export interface DryRun {
  findings: Preflight['findings'];
  source: { branches: number; tags: number } | undefined;
  target: { branches: number; tags: number } | undefined;
  /** Of what was asked and found, with the refs of both repositories. */
  digest: string;
}

/** @throws `preflight-timeout`, `repository-missing` */
export async function checkInRequest(
  services: MigrationServices,
  project: Project,
  plan: TargetPlan & { mode: MigrationMode; overwrite: boolean },
  seconds: number,
): Promise<DryRun> {
  const signal = AbortSignal.timeout(seconds * 1_000);
  const checking = checkOnce(services, project, plan, signal);
  // Also what does not look at the signal ends for the caller.
  const aborted = Promise.withResolvers<never>();
  const onAbort = () => aborted.reject(signal.reason);
  signal.addEventListener('abort', onAbort);
  try {
    return await Promise.race([checking, aborted.promise]);
  } catch (failure) {
    checking.catch(() => undefined);
    if (signal.aborted) throw problem('preflight-timeout', { seconds });
    throw failure;
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

async function checkOnce(
  services: MigrationServices,
  project: Project,
  plan: TargetPlan & { mode: MigrationMode; overwrite: boolean },
  signal: AbortSignal,
): Promise<DryRun> {
  const { database, git, limits } = services;
  const row = await readSource(database.read, {
    account_id: project.accountId,
    project_id: project.projectId,
  });
  if (row === undefined) throw problem('repository-missing');
  const scratch = await git.makeScratch();
  try {
    const onBytes = () => undefined;
    const source = await openSource(services, project, row, limits, onBytes);
    const target = await openTarget(services, project, plan, row, { limits, signal, onBytes });
    const of = { accountId: project.accountId, signal, isBackground: false };
    const place = await makePlace(git, scratch, 'preflight', of);
    const { mode, overwrite } = plan;
    const isContinued = await hasPushedBefore(database.read, {
      account_id: project.accountId,
      project_id: project.projectId,
      target_clone_url: plan.cloneUrl,
    });
    const { findings, refs } = await checkBefore(
      { mode, overwrite, isResumed: false, isContinued, mostRefs: limits.mostRefs },
      {
        place,
        listSource: () => source.list(place),
        readSource: () => source.readInto(place),
        target: target.reached,
        provider: target.provider,
      },
    );
    return {
      findings,
      source: refs.source && countRefs(refs.source),
      target: refs.target && countRefs(refs.target),
      digest: digestDryRun(plan, findings, refs),
    };
  } finally {
    await scratch.remove();
  }
}

function digestDryRun(
  {
    mode,
    overwrite,
    provider,
    cloneUrl,
    parameters,
    enterpriseOauthId,
  }: TargetPlan & {
    mode: MigrationMode;
    overwrite: boolean;
  },
  findings: Preflight['findings'],
  { source, target }: Preflight['refs'],
): string {
  const of = [mode, overwrite, provider, cloneUrl, sortPairs(Object.entries(parameters)), enterpriseOauthId];
  // Not their messages, in which a host may put the time or the id of a request.
  const found = findings.map(({ level, code }) => `${level} ${code}`).sort();
  const refs = [source, target].map((each) => each && sortPairs([...each.refs]));
  return createHash('sha256')
    .update(JSON.stringify([of, found, refs]))
    .digest('hex');
}

function sortPairs(pairs: readonly (readonly [string, unknown])[]) {
  return pairs.toSorted(([one], [other]) => (one < other ? -1 : 1));
}
