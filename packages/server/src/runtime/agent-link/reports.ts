/**
 * Applying a batch of reports: which are news, which were heard before, which come from an agent that lost
 * the work or report a run of another work. Pure over rows of work.
 */
import type { Report, ReportRefusal, ReportsResponse, Step } from '@headgate/contract';
import type { HeldRow } from '../../kernel/work/held-work.ts';
import type { RunOwners } from '../executions/index.ts';
import { type StepBounds, stepFault } from './step-bounds.ts';

type Result = ReportsResponse['results'][number];

export interface Judged {
  /** In the order of the reports. */
  results: Result[];
  /** The reports to apply, in their order. */
  news: Report[];
  /** The last number of each work that has news. */
  sequences: Map<string, number>;
  /** The works that have news, as they were. */
  heard: HeldRow[];
}

/** The runs whose owners must be known to judge the reports: all but the run of the work itself. */
export function runsNamedIn(reports: readonly Report[]): string[] {
  const steps = reports.flatMap((report) =>
    report.type === 'progress' ? report.steps.map((step) => ({ ...step, workId: report.workId })) : [],
  );
  const named = steps.flatMap(({ workId, pipelineRunId, childPipeline }) => [
    ...(pipelineRunId === workId ? [] : [pipelineRunId]),
    ...(childPipeline === undefined ? [] : [childPipeline.id]),
  ]);
  return [...new Set(named)];
}

/** The works that have steps in the reports, and the steps. */
export function stepsNamedIn(reports: readonly Report[]): { workIds: string[]; stepIds: string[] } {
  const progress = reports.filter((report) => report.type === 'progress');
  return {
    workIds: [...new Set(progress.map(({ workId }) => workId))],
    stepIds: [...new Set(progress.flatMap(({ steps }) => steps.map(({ stepId }) => stepId)))],
  };
}

/** `owners` holds the owners of `runsNamedIn(reports)`, as far as there are any. */
export function judgeReports(
  reports: readonly Report[],
  held: readonly HeldRow[],
  owners: RunOwners,
  bounds: StepBounds,
): Judged {
  const rows = new Map(held.map((row) => [row.work_id, { ...row }]));
  let runs = owners;
  const results: Result[] = [];
  const news: Report[] = [];
  const sequences = new Map<string, number>();
  const heardSteps = new Map<string, Map<string, Step>>();
  for (const report of reports) {
    const { workId } = report;
    const row = rows.get(workId);
    const refused = (code: ReportRefusal, detail: string) =>
      results.push({ workId, accepted: false, code, detail });
    if (row === undefined) {
      refused('work-not-found', `There is no work ${workId} of this agent.`);
    } else if (row.epoch === report.epoch && report.sequence <= row.report_sequence) {
      results.push({ workId, accepted: true });
    } else if (row.epoch !== report.epoch || row.state === 'queued') {
      refused('stale-epoch', `The epoch ${report.epoch} is over; the work was given to another claim.`);
    } else if (row.state === 'ended') {
      refused('stale-epoch', 'The work has ended.');
    } else {
      const after = report.type === 'progress' ? runsAfter(report.steps, row, runs) : runs;
      if (typeof after === 'string') {
        refused('run-of-another-work', after);
        continue;
      }
      const fault = report.type === 'progress' ? boundsBroken(report, heardSteps, bounds) : undefined;
      if (fault !== undefined) {
        refused(fault.code, fault.detail);
        const outcome = { status: 'FAILED', message: fault.detail } as const;
        news.push({ workId, epoch: report.epoch, sequence: report.sequence, type: 'completed', outcome });
        Object.assign(row, { report_sequence: report.sequence, state: 'ended' });
        sequences.set(workId, report.sequence);
        continue;
      }
      runs = after;
      results.push({ workId, accepted: true });
      news.push(report);
      row.report_sequence = report.sequence;
      sequences.set(workId, report.sequence);
      if (report.type === 'completed') row.state = 'ended';
      if (report.type === 'released') row.state = 'queued';
    }
  }
  return { results, news, sequences, heard: held.filter((row) => sequences.has(row.work_id)) };
}

/** Notes the steps of a report with those that came before it. */
function boundsBroken(
  { workId, steps }: Extract<Report, { type: 'progress' }>,
  heardSteps: Map<string, Map<string, Step>>,
  bounds: StepBounds,
) {
  const heard = heardSteps.get(workId) ?? new Map<string, Step>();
  heardSteps.set(workId, heard);
  for (const step of steps) heard.set(step.stepId, step);
  return stepFault(workId, steps, heard, bounds);
}

/** The owners of runs once these steps of a work are written; or, in words, why they may not be. */
function runsAfter(
  steps: readonly Step[],
  { work_id: workId, kind }: HeldRow,
  before: RunOwners,
): RunOwners | string {
  if (kind !== 'pipeline-execution') return `The work ${workId} is a ${kind}: it has no steps.`;
  const runs = new Map(before);
  for (const { stepId, childPipeline } of steps) {
    if (childPipeline === undefined) continue;
    const owner = runs.get(childPipeline.id);
    if (owner !== undefined && (owner.executionId !== workId || owner.stepId !== stepId))
      return `childPipeline.id ${childPipeline.id} is the id of another run; give each child run an id of its own.`;
    runs.set(childPipeline.id, { executionId: workId, stepId });
  }
  const foreign = steps.find(
    ({ pipelineRunId }) => pipelineRunId !== workId && runs.get(pipelineRunId)?.executionId !== workId,
  );
  if (foreign === undefined) return runs;
  return `pipelineRunId ${foreign.pipelineRunId} is neither this work nor a child run that it announced.`;
}
