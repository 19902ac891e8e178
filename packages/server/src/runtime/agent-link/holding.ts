/** What an agent says of the work that it holds: heartbeats and reports, each batch in one transaction, fenced by epochs. */
import type { HeartbeatRequest, HeartbeatResponse, Report, ReportsResponse, Step } from '@headgate/contract';
import type { Services } from '../../kernel/endpoint.ts';
import type { Wakes } from '../../kernel/wakes.ts';
import {
  extend,
  type HeldRow,
  lockHeld,
  noteReported,
  requeueAll,
  type WorkEnd,
  type WorkMoment,
  type WorkOwner,
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
    const rowById = new Map(rows.map((row) => [row.work_id, row]));
    const ends = news.flatMap((report): WorkEnd[] => {
      if (report.type === 'completed') return [{ workId: report.workId, ...report.outcome }];
      // What is being cancelled needs no other holder.
      const cancelled = report.type === 'released' && rowById.get(report.workId)?.command != null;
      return cancelled ? [{ workId: report.workId, status: 'CANCELLED' }] : [];
    });
    const ended = new Set(ends.map((end) => end.workId));
    noteReported(tx, accountId, { sequences, ended }, now, services.times);
    for (const [kind, ofKind] of Map.groupBy(
      rows.filter((row) => sequences.has(row.work_id)),
      (row) => row.kind,
    )) {
      await applyNews(services.owners[kind], moment, ofKind, news, ends);
    }
    tx.afterCommit(() => {
      if (news.some((report) => report.type === 'released')) services.wakes.wake(agent.agentId, 'one');
    });
    return results;
  });
}

/** Tells the owner of some works what is new of them. */
async function applyNews(
  owner: WorkOwner,
  moment: WorkMoment,
  works: readonly HeldRow[],
  news: readonly Report[],
  ends: readonly WorkEnd[],
): Promise<void> {
  const { tx, accountId, now } = moment;
  const ids = new Set(works.map((work) => work.work_id));
  const ofWorks = news.filter((report) => ids.has(report.workId));
  const told = (type: Report['type']) => {
    const those = new Set(ofWorks.filter((report) => report.type === type).map((report) => report.workId));
    return works.filter((work) => those.has(work.work_id));
  };
  const started = told('started');
  if (started.length > 0) owner.started(moment, started);
  const steps = ofWorks.flatMap((report): (Step & { executionId: string })[] =>
    report.type === 'progress' ? report.steps.map((step) => ({ ...step, executionId: report.workId })) : [],
  );
  if (steps.length > 0) writeSteps(tx, accountId, steps);
  const released = told('released').filter((work) => work.command === null);
  if (released.length > 0) {
    requeueAll(
      tx,
      accountId,
      released.map((work) => work.work_id),
      now,
    );
    owner.requeued(moment, released);
  }
  const ended = ends.filter((end) => ids.has(end.workId));
  if (ended.length > 0) await owner.ended(moment, ended);
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
