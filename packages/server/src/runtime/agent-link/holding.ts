/** What an agent says of the work that it holds: heartbeats and reports, each batch in one transaction, fenced by epochs. */
import type { HeartbeatRequest, HeartbeatResponse, Report, ReportsResponse, Step } from '@headgate/contract';
import type { Services } from '../../kernel/endpoint.ts';
import type { Wakes } from '../../kernel/wakes.ts';
import {
  endAll,
  extend,
  type HeldRow,
  lockHeld,
  noteSequences,
  requeueAll,
  type WorkEnd,
  type WorkMoment,
  type WorkOwners,
  type WorkTimes,
} from '../../kernel/work.ts';
import { writeSteps } from '../executions/index.ts';
import type { CallingAgent } from './agent-endpoint.ts';
import { judgeReports } from './reports.ts';

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
    const rows = await lockHeld(
      tx,
      agent.accountId,
      agent.agentId,
      held.map((each) => each.workId),
    );
    const byId = new Map(rows.map((row) => [row.work_id, row]));
    const kept = held
      .filter(({ workId, epoch }) => isHeld(byId.get(workId), epoch))
      .map((each) => each.workId);
    const moment: WorkMoment = {
      tx,
      accountId: agent.accountId,
      source: sourceOf(agent, requestId),
      now,
      newId: services.newId,
    };
    comeBack(services.owners, moment, rows, kept);
    extend(tx, agent.accountId, kept, now, services.times);
    return held.map(({ workId, epoch }) => {
      const row = byId.get(workId);
      if (row === undefined || !isHeld(row, epoch)) return { workId, epoch, state: 'lost' as const };
      return {
        workId,
        epoch,
        state: 'held' as const,
        ...(row.command === null ? {} : { command: row.command }),
      };
    });
  });
}

export async function applyReports(
  services: HoldingServices,
  agent: CallingAgent,
  reports: readonly Report[],
  requestId: string,
): Promise<ReportsResponse['results']> {
  return services.database.transaction(async (tx) => {
    const now = services.clock.now();
    const { accountId } = agent;
    const rows = await lockHeld(tx, accountId, agent.agentId, [
      ...new Set(reports.map((report) => report.workId)),
    ]);
    const { results, news, sequences } = judgeReports(reports, rows);
    if (news.length === 0) return results;
    const moment: WorkMoment = {
      tx,
      accountId,
      source: sourceOf(agent, requestId),
      now,
      newId: services.newId,
    };
    comeBack(services.owners, moment, rows, [...sequences.keys()]);
    extend(tx, accountId, [...sequences.keys()], now, services.times);
    noteSequences(tx, accountId, sequences);
    const rowById = new Map(rows.map((row) => [row.work_id, row]));
    for (const [kind, ofKind] of Map.groupBy(
      news,
      (report) => rowById.get(report.workId)?.kind ?? 'pipeline-execution',
    )) {
      await applyNews(services, moment, kind, ofKind, rowById);
    }
    tx.afterCommit(() => {
      if (news.some((report) => report.type === 'released')) services.wakes.wake(agent.agentId, 'one');
    });
    return results;
  });
}

async function applyNews(
  services: HoldingServices,
  moment: WorkMoment,
  kind: HeldRow['kind'],
  news: readonly Report[],
  rowById: ReadonlyMap<string, HeldRow>,
): Promise<void> {
  const { tx, accountId, now } = moment;
  const owner = services.owners[kind];
  const started = news.filter((report) => report.type === 'started').map((report) => report.workId);
  if (started.length > 0) await owner.started(moment, started);
  const steps = news.flatMap((report): (Step & { executionId: string })[] =>
    report.type === 'progress' ? report.steps.map((step) => ({ ...step, executionId: report.workId })) : [],
  );
  if (steps.length > 0) writeSteps(tx, accountId, steps);
  const ends: WorkEnd[] = [];
  const released: string[] = [];
  for (const report of news) {
    if (report.type === 'completed') ends.push({ workId: report.workId, ...report.outcome });
    if (report.type !== 'released') continue;
    // What is being cancelled needs no other holder.
    const cancelled = rowById.get(report.workId)?.command != null;
    if (cancelled) ends.push({ workId: report.workId, status: 'CANCELLED' });
    else released.push(report.workId);
  }
  if (released.length > 0) {
    requeueAll(tx, accountId, released, now);
    await owner.requeued(moment, released);
  }
  if (ends.length > 0) {
    endAll(
      tx,
      accountId,
      ends.map((end) => end.workId),
      now,
    );
    await owner.ended(moment, ends);
  }
}

function comeBack(
  owners: WorkOwners,
  moment: WorkMoment,
  rows: readonly HeldRow[],
  heard: readonly string[],
): void {
  const back = rows.filter((row) => row.state === 'silent' && heard.includes(row.work_id));
  for (const [kind, works] of Map.groupBy(back, (row) => row.kind)) {
    owners[kind].cameBack(
      moment,
      works.map((row) => row.work_id),
    );
  }
}

function isHeld(row: HeldRow | undefined, epoch: number): boolean {
  return row !== undefined && row.epoch === epoch && (row.state === 'held' || row.state === 'silent');
}

function sourceOf(agent: CallingAgent, requestId: string) {
  return { accountId: agent.accountId, actorId: agent.agentId, actorKind: 'agent', requestId } as const;
}
