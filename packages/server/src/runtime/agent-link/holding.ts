/**
 * Applies an agent's heartbeats and reports of the work that it holds: one transaction for each batch,
 * fenced by epochs.
 */
import type { HeartbeatRequest, HeartbeatResponse, Report, ReportsResponse, Step } from '@headgate/contract';
import { isDatabaseError, type Read, type Transaction } from '../../kernel/database/database.ts';
import type { Wakes } from '../../kernel/database/wakes.ts';
import type { Services } from '../../kernel/endpoint/endpoint.ts';
import { problem } from '../../kernel/http/problems.ts';
import { collectHeldBack } from '../../kernel/work/claim.ts';
import {
  extendLeases,
  type HeldRow,
  isChangedWork,
  lockHeldWork,
  lockUnchanged,
  readHeldWork,
  recordReported,
} from '../../kernel/work/held-work.ts';
import {
  chooseTarget,
  requeueWork,
  requireOwner,
  type WorkEnd,
  type WorkMoment,
  type WorkOwner,
  type WorkOwners,
  type WorkTimes,
} from '../../kernel/work/work.ts';
import { recordCalledRuns, writeStepLineage } from '../../records/lineage/index.ts';
import {
  announcesOnce,
  getLogKey,
  readRunOwners,
  readStepTotals,
  writeRunRecords,
  writeSteps,
} from '../executions/index.ts';
import type { CallingAgent } from './known-agents.ts';
import { type Judged, judgeReports, listNamedRuns, listNamedSteps } from './reports.ts';

interface HoldingServices extends Services {
  owners: WorkOwners;
  times: WorkTimes;
  wakes: Wakes;
}

export async function renewLeases(
  services: HoldingServices,
  agent: CallingAgent,
  held: HeartbeatRequest['held'],
  requestId: string,
): Promise<HeartbeatResponse['held']> {
  if (held.length === 0) return [];
  return services.database.transaction(async (tx) => {
    const now = services.clock.now();
    const rows = await lockHeldWork(
      tx,
      agent.accountId,
      agent.agentId,
      held.map((each) => each.workId),
    );
    const byId = new Map(rows.map((row) => [row.work_id, row]));
    const stillHeld = held
      .filter(({ workId, epoch }) => isHeld(byId.get(workId), epoch))
      .map((each) => each.workId);
    const moment: WorkMoment = {
      tx,
      accountId: agent.accountId,
      source: createSource(agent, requestId),
      now,
      newId: services.newId,
    };
    markReturned(services.owners, moment, rows, stillHeld);
    extendLeases(tx, agent.accountId, stillHeld, now, services.times);
    return held.map(({ workId, epoch }) => {
      const row = byId.get(workId);
      if (row === undefined || !isHeld(row, epoch)) return { workId, epoch, state: 'lost' as const };
      return {
        workId,
        epoch,
        state: 'held' as const,
        ...(row.command === null ? {} : { command: row.command }),
        ...(row.command_by === null ? {} : { requestedBy: row.command_by }),
      };
    });
  });
}

/**
 * Judges reports by rows read without locks, and applies them in one trip that fails if the rows have
 * changed since. If they have (a cancellation came in between, or another work announced the same run), it
 * judges the reports again, on locked rows.
 */
export async function applyReports(
  services: HoldingServices,
  agent: CallingAgent,
  reports: readonly Report[],
  requestId: string,
): Promise<ReportsResponse['results']> {
  const { database } = services;
  const { accountId, agentId } = agent;
  const ids = [...new Set(reports.map((report) => report.workId))];
  const runIds = listNamedRuns(reports);
  const { workIds, stepIds } = listNamedSteps(reports);
  const { runLimitSeconds } = services.times;
  const judge = async (read: Read, held: Promise<HeldRow[]>) => {
    const [rows, owners, totals] = await Promise.all([
      held,
      readRunOwners(read, accountId, runIds),
      readStepTotals(read, accountId, workIds, stepIds),
    ]);
    return judgeReports(reports, rows, owners, { now: services.clock.now(), runLimitSeconds, totals });
  };
  const judged = await judge(database.read, readHeldWork(database.read, accountId, agentId, ids));
  if (judged.news.length === 0) return judged.results;
  try {
    await database.transaction((tx) => {
      lockUnchanged(tx, accountId, judged.heard);
      applyJudged(services, { tx, agent, requestId }, judged);
    });
    return judged.results;
  } catch (failure) {
    if (!isChangedWork(failure) && !isAnnouncedTwice(failure)) throw failure;
    return database.transaction(async (tx) => {
      tx.onConstraint(announcesOnce, () => problem('concurrent-change'));
      const again = await judge(tx.query, lockHeldWork(tx, accountId, agentId, ids));
      if (again.news.length > 0) applyJudged(services, { tx, agent, requestId }, again);
      return again.results;
    });
  }
}

function isAnnouncedTwice(failure: unknown): boolean {
  return isDatabaseError(failure) && failure.constraint === announcesOnce;
}

function applyJudged(
  services: HoldingServices,
  { tx, agent, requestId }: { tx: Transaction; agent: CallingAgent; requestId: string },
  { news, sequences, refused, heard }: Judged,
): void {
  const now = services.clock.now();
  const { accountId } = agent;
  const moment: WorkMoment = {
    tx,
    accountId,
    source: createSource(agent, requestId),
    now,
    newId: services.newId,
  };
  markReturned(services.owners, moment, heard, [...sequences.keys()]);
  const rowById = new Map(heard.map((row) => [row.work_id, row]));
  const ends = news.flatMap((report): WorkEnd[] => {
    const requestedBy = rowById.get(report.workId)?.command_by ?? undefined;
    if (report.type === 'completed') {
      const { status, message, stepsRefused, ...result } = report.outcome;
      const isLost = refused.has(report.workId) || stepsRefused === true;
      return [{ workId: report.workId, status, message, result, requestedBy, isLost }];
    }
    // Released work that is being cancelled is not given to another instance.
    const cancelled = report.type === 'released' && rowById.get(report.workId)?.command != null;
    return cancelled ? [{ workId: report.workId, status: 'CANCELLED', requestedBy }] : [];
  });
  const endedIds = new Set(ends.map((end) => end.workId));
  recordReported(tx, accountId, { sequences, ended: endedIds }, now, services.times);
  for (const [kind, ofKind] of Map.groupBy(heard, (row) => row.kind)) {
    applyNews(
      { owner: requireOwner(services.owners, kind), wakes: services.wakes },
      moment,
      ofKind,
      news,
      ends,
    );
  }
  const heldBack = ends.length > 0 ? collectHeldBack(tx, accountId, agent.agentId) : [];
  const releasedIds = new Set(news.flatMap(({ type, workId }) => (type === 'released' ? [workId] : [])));
  const released = heard.filter((row) => releasedIds.has(row.work_id));
  tx.afterCommit(() => {
    if (heldBack.length + released.length === 0) return;
    const isShort = heldBack.some((lane) => lane.is_short);
    services.wakes.wake(agent.agentId, isShort ? 'all' : chooseTarget(released));
  });
}

/** Passes the news of some works to their owner. */
function applyNews(
  { owner, wakes }: { owner: WorkOwner; wakes: Wakes },
  moment: WorkMoment,
  works: readonly HeldRow[],
  news: readonly Report[],
  ends: readonly WorkEnd[],
): void {
  const { tx, accountId, now } = moment;
  const ids = new Set(works.map((work) => work.work_id));
  const ofWorks = news.filter((report) => ids.has(report.workId));
  const listReported = (type: Report['type']) => {
    const those = new Set(ofWorks.filter((report) => report.type === type).map((report) => report.workId));
    return works.filter((work) => those.has(work.work_id));
  };
  const started = listReported('started');
  if (started.length > 0) owner.onStarted(moment, started);
  const steps = ofWorks.flatMap((report): (Step & { executionId: string })[] =>
    report.type === 'progress' ? report.steps.map((step) => ({ ...step, executionId: report.workId })) : [],
  );
  const progress = ofWorks.filter((report) => report.type === 'progress');
  writeStepLineage(tx, accountId, progress);
  if (steps.length > 0) {
    writeSteps(tx, accountId, steps);
    recordCalledRuns(tx, accountId, steps, now);
  }
  for (const report of ofWorks)
    if (report.type === 'tested') owner.onTested?.(moment, report.workId, report.results);
  const printing = writeRunRecords(tx, accountId, progress);
  tx.afterCommit(() => {
    for (const id of printing) wakes.wake(getLogKey(id), 'all');
  });
  const released = listReported('released').filter((work) => work.command === null);
  if (released.length > 0) {
    requeueWork(
      tx,
      accountId,
      released.map((work) => work.work_id),
      now,
    );
    owner.onRequeued(moment, released);
  }
  const accepted = ends.filter((end) => ids.has(end.workId));
  if (accepted.length > 0) owner.onEnded(moment, accepted);
}

function markReturned(
  owners: WorkOwners,
  moment: WorkMoment,
  rows: readonly HeldRow[],
  heard: readonly string[],
): void {
  const back = rows.filter((row) => row.state === 'silent' && heard.includes(row.work_id));
  for (const [kind, works] of Map.groupBy(back, (row) => row.kind)) {
    requireOwner(owners, kind).onCameBack(
      moment,
      works.map((row) => row.work_id),
    );
  }
}

function isHeld(row: HeldRow | undefined, epoch: number): boolean {
  return row !== undefined && row.epoch === epoch && (row.state === 'held' || row.state === 'silent');
}

function createSource(agent: CallingAgent, requestId: string) {
  return { accountId: agent.accountId, actorId: agent.agentId, actorKind: 'agent', requestId } as const;
}
