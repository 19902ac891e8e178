/**
 * Judges a batch of reports: which are new, which are repeated, and which are refused because the agent
 * lost the work or reports a run of another work. Pure functions over rows of work.
 */
import type { Report, ReportRefusal, ReportsResponse, Step } from '@headgate/contract';
import type { HeldRow } from '../../kernel/work/held-work.ts';
import type { RunOwners } from '../executions/index.ts';
import { findStepFault, type StepBounds } from './step-bounds.ts';

type Result = ReportsResponse['results'][number];

export interface Judged {
  /** In the order of the reports. */
  results: Result[];
  /** The reports to apply, in their order. */
  news: Report[];
  /** The last sequence number of each work with news. */
  sequences: Map<string, number>;
  /** The works that end because their steps are refused: what these did is not known. */
  refused: Set<string>;
  /** The works with news, before them. */
  heard: HeldRow[];
}

/** The runs whose owners are needed to judge the reports: all except the run of the work itself. */
export function listNamedRuns(reports: readonly Report[]): string[] {
  const steps = reports.flatMap((report) =>
    report.type === 'progress' ? report.steps.map((step) => ({ ...step, workId: report.workId })) : [],
  );
  const named = steps.flatMap(({ workId, pipelineRunId, childPipeline }) => [
    ...(pipelineRunId === workId ? [] : [pipelineRunId]),
    ...(childPipeline === undefined ? [] : [childPipeline.id]),
  ]);
  const traced = reports.flatMap((report) =>
    report.type === 'progress'
      ? (report.lineage ?? []).map(({ pipelineRunId }) => pipelineRunId).filter((id) => id !== report.workId)
      : [],
  );
  return [...new Set([...named, ...traced])];
}

/** The works with steps in the reports, and the steps. */
export function listNamedSteps(reports: readonly Report[]): { workIds: string[]; stepIds: string[] } {
  const progress = reports.filter((report) => report.type === 'progress');
  return {
    workIds: [...new Set(progress.map(({ workId }) => workId))],
    stepIds: [...new Set(progress.flatMap(({ steps }) => steps.map(({ stepId }) => stepId)))],
  };
}

/** `owners` holds the owners of `listNamedRuns(reports)` that exist. */
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
  const refusedWorks = new Set<string>();
  const heardSteps = new Map<string, Map<string, Step>>();
  for (const report of reports) {
    const { workId } = report;
    const row = rows.get(workId);
    const refused = (code: ReportRefusal, detail: string) =>
      results.push({ workId, accepted: false, code, detail });
    if (row === undefined) {
      refused('work-not-found', `This agent has no work ${workId}.`);
    } else if (row.epoch === report.epoch && report.sequence <= row.report_sequence) {
      results.push({ workId, accepted: true });
    } else if (row.epoch !== report.epoch || row.state === 'queued') {
      refused('stale-epoch', `The epoch ${report.epoch} is not current: the work was claimed again.`);
    } else if (row.state === 'ended') {
      refused('stale-epoch', 'The work has ended.');
    } else if (report.type === 'tested' && row.kind !== 'test-execution') {
      refused('run-of-another-work', `The work ${workId} is a ${row.kind}, which has no tests.`);
    } else {
      const after = report.type === 'progress' ? resolveRuns(report, row, runs) : runs;
      if (typeof after === 'string') {
        refused('run-of-another-work', after);
        continue;
      }
      const fault = report.type === 'progress' ? checkBounds(report, heardSteps, bounds) : undefined;
      if (fault !== undefined) {
        refused(fault.code, fault.detail);
        refusedWorks.add(workId);
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
  const heard = held.filter((row) => sequences.has(row.work_id));
  return { results, news, sequences, refused: refusedWorks, heard };
}

/** Adds the steps of a report to those of the batch, and checks the limits. */
function checkBounds(
  { workId, steps }: Extract<Report, { type: 'progress' }>,
  heardSteps: Map<string, Map<string, Step>>,
  bounds: StepBounds,
) {
  const heard = heardSteps.get(workId) ?? new Map<string, Step>();
  heardSteps.set(workId, heard);
  for (const step of steps) heard.set(step.stepId, step);
  return findStepFault(workId, steps, heard, bounds);
}

/** Returns the owners of runs after these steps, or a text with the reason to refuse the steps. */
function resolveRuns(
  { steps, lineage = [] }: Pick<Extract<Report, { type: 'progress' }>, 'steps' | 'lineage'>,
  { work_id: workId, kind }: HeldRow,
  before: RunOwners,
): RunOwners | string {
  if (kind !== 'pipeline-execution') return `The work ${workId} is a ${kind}, which has no steps.`;
  const runs = new Map(before);
  for (const { stepId, childPipeline } of steps) {
    if (childPipeline === undefined) continue;
    const owner = runs.get(childPipeline.id);
    if (owner !== undefined && (owner.executionId !== workId || owner.stepId !== stepId))
      return `childPipeline.id ${childPipeline.id} is the id of another run; give each child run its own id.`;
    runs.set(childPipeline.id, { executionId: workId, stepId });
  }
  const foreign = steps.find(
    ({ pipelineRunId }) => pipelineRunId !== workId && runs.get(pipelineRunId)?.executionId !== workId,
  );
  const traced = lineage.find(({ pipelineRunId }) => {
    const owner = runs.get(pipelineRunId);
    return pipelineRunId !== workId && owner !== undefined && owner.executionId !== workId;
  });
  if (traced !== undefined)
    return `pipelineRunId ${traced.pipelineRunId} of lineage is a run of another work.`;
  if (foreign === undefined) return runs;
  return `pipelineRunId ${foreign.pipelineRunId} is neither this work nor one of its child runs.`;
}
