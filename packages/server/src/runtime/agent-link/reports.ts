/**
 * Applying a batch of reports: which are news, which were heard before, which come from someone who lost the work. Pure over rows of work.
 */
import type { Report, ReportsResponse } from '@headgate/contract';
import type { HeldRow } from '../../kernel/held-work.ts';

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

export function judgeReports(reports: readonly Report[], held: readonly HeldRow[]): Judged {
  const rows = new Map(held.map((row) => [row.work_id, { ...row }]));
  const results: Result[] = [];
  const news: Report[] = [];
  const sequences = new Map<string, number>();
  for (const report of reports) {
    const { workId } = report;
    const row = rows.get(workId);
    const refused = (code: 'stale-epoch' | 'work-not-found', detail: string) =>
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
