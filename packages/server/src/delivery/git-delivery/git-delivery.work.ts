/**
 * Delivery by rules: a server that holds a due rule looks at its branch, and publishes the newest commit unless it was
 * published or refused before (docs/adr/0065).
 *
 * The transaction that writes the version also writes into the rule which commit it was, and is refused if the
 * lease was lost. So each commit is published once, whichever server dies.
 */
import { createArtifactFromGit } from '@headgate/contract';
import { addSeconds, type Clock } from '../../kernel/clock.ts';
import type { Database, Transaction } from '../../kernel/database/database.ts';
import { type AccountEvent, recordEvents } from '../../kernel/database/events.ts';
import { actFor } from '../../kernel/endpoint/acting.ts';
import type { FailureLog } from '../../kernel/failure-log.ts';
import { Problem, problem } from '../../kernel/http/problems.ts';
import type { NewId } from '../../kernel/identifiers.ts';
import { describeInterruption } from '../../kernel/work/interruption.ts';
import type { Places } from '../../kernel/work/places.ts';
import { type HeldWork, LeaseLost } from '../../kernel/work/server-work.ts';
import type { ServerWorkKind } from '../../kernel/work/server-worker.ts';
import { type Publication, publishVersion } from '../artifacts/index.ts';
import type { GitRepository } from '../git/index.ts';
import { findNearestBranch, type RepositoryUse } from '../repositories/index.ts';
import { type PublishingServices, publishCommit } from './publish-commit.ts';
import { requireReader } from './repository-reader.store.ts';
import {
  BranchMoved,
  type DueRule,
  finishRule,
  lockRule,
  lockUnmovedRule,
  type RuleEnd,
  readKnownVersions,
  readRule,
} from './rule.store.ts';
import { renderStatusText } from './status-text.ts';
import { isTransient } from './transient-problem.ts';
import { chooseVersionName, renderVersionName } from './version-name.ts';

export interface RuleDeliveryServices extends PublishingServices {
  database: Database;
  failures: FailureLog;
  clock: Clock;
  newId: NewId;
  repositories: RepositoryUse;
  config: PublishingServices['config'] & {
    /** Undefined: branches on other hosts are looked at only when a webhook says so. */
    git: { pollSeconds: number | undefined };
  };
}

/** After a failure that may pass. */
const retrySeconds = 30;
const migrationSeconds = 5;
/** The record of a push wakes the rule sooner, unless its server died. */
const movedSeconds = 5;

/** @param places shared with the checks of reviews */
export function createDeliveryWork(services: RuleDeliveryServices, places: Places): ServerWorkKind {
  return {
    kind: 'git-delivery',
    name: 'delivery from git',
    lookMilliseconds: 500,
    leaseSeconds: 120,
    places,
    run: (held, signal, notBefore) => deliverRule(services, held, signal, notBefore),
    setAside: (held) => setAside(services, held),
  };
}

async function deliverRule(
  services: RuleDeliveryServices,
  held: HeldWork,
  signal: AbortSignal,
  notBefore: number,
): Promise<void> {
  const rule = await readRule(services.database.read, held);
  const place = { accountId: rule.account_id, projectId: rule.project_id };
  try {
    // What is fetched from now on has the pushes that woke it.
    await services.repositories.withRepository(place, ({ content }) => deliverHead(services, rule, content), {
      notBefore,
    });
  } catch (failure) {
    if (failure instanceof LeaseLost || signal.aborted) throw failure;
    if (failure instanceof BranchMoved)
      return endRule(services, rule, {
        ...retryLater(services, rule, movedSeconds),
        problem: rule.problem ?? undefined,
      });
    if (!(failure instanceof Problem)) {
      const names = { workId: rule.held.work_id };
      const message = 'the delivery of a branch failed; it will be tried again';
      services.failures.recordFailure('the delivery of a branch', failure, message, names);
      return endRule(services, rule, {
        ...retryLater(services, rule),
        problem: 'The server failed; it tries again.',
      });
    }
    const seconds = failure.code === 'migration-in-progress' ? migrationSeconds : retrySeconds;
    await endRule(services, rule, { ...retryLater(services, rule, seconds), problem: failure.message });
  }
}

/** The next push, or writing the rules again, makes it due. */
async function setAside(services: RuleDeliveryServices, held: HeldWork): Promise<void> {
  const rule = await readRule(services.database.read, held);
  const message = describeInterruption('The delivery of this branch');
  const end = { commitHash: rule.commit_hash, nextDueAt: null, problem: message };
  await endRule(services, rule, end, [createRefusalEvent(rule, { code: 'interrupted', message })]);
}

async function deliverHead(
  services: RuleDeliveryServices,
  rule: DueRule,
  repository: GitRepository,
): Promise<void> {
  const { branch_name: branch } = rule;
  const commit = await repository.findCommitId(`refs/heads/${branch}`);
  const nextDueAt = findNextLook(services, rule);
  if (commit === undefined) {
    const nearest = await findNearestBranch({ content: repository, defaultBranch: null }, branch);
    const { message } = problem('unknown-branch', { name: branch, nearest });
    return endRule(services, rule, { commitHash: null, nextDueAt, problem: message });
  }
  if (commit === rule.commit_hash)
    return endRule(services, rule, { commitHash: commit, nextDueAt, problem: rule.problem ?? undefined });
  const publisher = findPublisher(rule, commit);
  if (publisher === undefined) {
    const refusal = createRefusalEvent(rule, { commit, message: unknownPusher });
    return endRule(services, rule, { commitHash: commit, nextDueAt, problem: unknownPusher }, [refusal]);
  }
  const base = renderVersionName(commit, branch);
  const { newest, taken } = await readKnownVersions(services.database.read, rule, base);
  if (newest?.commit === commit && newest.branch === branch) {
    const published = { versionName: newest.name, at: services.clock.now() };
    return endRule(services, rule, { commitHash: commit, nextDueAt, published });
  }
  try {
    const versionName = chooseVersionName(base, taken);
    await publishHead(services, rule, repository, { commit, versionName, publisher });
  } catch (failure) {
    if (!(failure instanceof Problem) || isTransient(failure)) throw failure;
    const end = { commitHash: commit, nextDueAt, problem: failure.message };
    const { code, message } = failure;
    const refusal = createRefusalEvent(rule, { commit, publisher, code, message });
    await endRule(services, rule, end, [refusal]);
  }
}

async function publishHead(
  services: RuleDeliveryServices,
  rule: DueRule,
  repository: GitRepository,
  { commit, versionName, publisher }: { commit: string; versionName: string; publisher: string },
): Promise<void> {
  const { account_id: accountId, project_id: projectId, environment_name: environmentName } = rule;
  const { branch_name: branch } = rule;
  const now = services.clock.now();
  const scope = { accountId, actorId: publisher };
  const place = { projectId, environmentName };
  const acting = actFor(services, createArtifactFromGit, { scope, place, now });
  await requireReader(acting.rows, services, scope, projectId);
  const publishing = { accountId, projectId, environmentName, versionName, branch, commit, isStrict: false };
  await publishCommit(services, repository, acting.rows, publishing, (publication) =>
    acting.write(async (tx) => {
      const locked = await lockUnmovedRule(tx, rule);
      const { events } = await publishVersion(tx, scope, publication, now);
      const published = { versionName, at: now, findings: describeFindings(publication) };
      const end = { commitHash: commit, nextDueAt: findNextLook(services, rule), published };
      await finishRule(tx, rule, locked, end, now);
      const after = { branch, commitHash: commit, versionName, publishedFor: scope.actorId };
      const deliveryEvent: AccountEvent = { ...describeRule(rule), name: 'branch-published', after };
      recordRuleEvents(services, tx, rule, [...events, deliveryEvent]);
    }),
  );
}

/** Errors of pipelines, which fail their runs. Undefined if there are none. */
function describeFindings({ checked: { summary, errorsTotal } }: Publication): string | undefined {
  if (errorsTotal === 0) return undefined;
  const warnings = summary.warningsTotal - errorsTotal;
  const text = renderStatusText({ errors: errorsTotal, warnings, findings: summary.warnings });
  return `The version is published, but its pipelines have ${text}`;
}

/**
 * Whose rights count: those of the principal that pushed this commit to a hosted branch, else those of the writer
 * of the rule. Undefined if others have pushed since, but not this commit.
 */
function findPublisher({ provider, pushers, written_by }: DueRule, commit: string): string | undefined {
  // A repository that was hosted here before a migration still has its last pushers.
  return provider === 'headgate' && pushers !== null ? pushers[commit] : written_by;
}

const unknownPusher =
  'It is not known which caller pushed the newest commit. Push another one, or write the rules again.';

/** Hosted branches are looked at after each push. */
function findNextLook({ clock, config }: RuleDeliveryServices, { provider }: DueRule): Date | null {
  if (provider === 'headgate' || config.git.pollSeconds === undefined) return null;
  return addSeconds(clock.now(), config.git.pollSeconds);
}

function retryLater(
  { clock }: RuleDeliveryServices,
  rule: DueRule,
  seconds = retrySeconds,
): Pick<RuleEnd, 'commitHash' | 'nextDueAt' | 'isPending'> {
  return { commitHash: rule.commit_hash, nextDueAt: addSeconds(clock.now(), seconds), isPending: true };
}

async function endRule(
  services: RuleDeliveryServices,
  rule: DueRule,
  end: RuleEnd,
  events: readonly AccountEvent[] = [],
): Promise<void> {
  await services.database.transaction(async (tx) => {
    const locked = events.length > 0 ? await lockUnmovedRule(tx, rule) : await lockRule(tx, rule);
    await finishRule(tx, rule, locked, end, services.clock.now());
    recordRuleEvents(services, tx, rule, events);
  });
}

function recordRuleEvents(
  { clock, newId }: RuleDeliveryServices,
  tx: Transaction,
  rule: DueRule,
  events: readonly AccountEvent[],
): void {
  const source = { accountId: rule.account_id, actorId: null, actorKind: 'system', requestId: null } as const;
  recordEvents(tx, source, events, clock.now(), newId);
}

function createRefusalEvent(
  rule: DueRule,
  refused: { commit?: string; publisher?: string; code?: string; message: string },
): AccountEvent {
  const { commit, publisher, code, message } = refused;
  const after = {
    ...{ branch: rule.branch_name, commitHash: commit, publishedFor: publisher },
    ...{ code, problem: message },
  };
  return { ...describeRule(rule), name: 'branch-not-published', after };
}

function describeRule({ project_id: projectId, environment_name: environmentName, branch_name }: DueRule) {
  const subject = { type: 'branch', id: branch_name, name: branch_name };
  return { projectId, environmentName, subject };
}
