/** What an agent may report of the steps of one work. */
import type { ReportRefusal, Step } from '@headgate/contract';
import { stepLimit } from '@headgate/pipelines';
import type { StepTotals } from '../executions/index.ts';

/** Bytes of the messages of one work's steps. */
const messageBytesLimit = 256 * 1_048_576;
const dayMilliseconds = 86_400_000;

export interface StepBounds {
  now: Date;
  /** How long an agent may hold work: a step may have started as long ago. */
  runLimitSeconds: number;
  /** Of each work before these reports, without the steps that they hold. */
  totals: StepTotals;
}

export interface StepFault {
  code: Extract<ReportRefusal, 'too-many-steps' | 'implausible-time'>;
  detail: string;
}

/** `heard`: the latest states of the steps of this work in the reports, with these; by their ids. */
export function stepFault(
  workId: string,
  steps: readonly Step[],
  heard: ReadonlyMap<string, Step>,
  { now, runLimitSeconds, totals }: StepBounds,
): StepFault | undefined {
  const time = timeFault(steps, now.getTime(), runLimitSeconds * 1_000);
  if (time !== undefined) return { code: 'implausible-time', detail: time };
  const before = totals.get(workId) ?? { steps: 0, bytes: 0 };
  if (before.steps + heard.size > stepLimit) {
    const detail = `The work has more than ${stepLimit} steps: split the pipeline, or let an iterator take fewer rows.`;
    return { code: 'too-many-steps', detail };
  }
  let bytes = before.bytes;
  for (const { message } of heard.values()) bytes += Buffer.byteLength(message ?? '');
  if (bytes <= messageBytesLimit) return undefined;
  const detail = `The messages of the work's steps have more than ${messageBytesLimit} bytes: print less.`;
  return { code: 'too-many-steps', detail };
}

function timeFault(steps: readonly Step[], now: number, runMilliseconds: number): string | undefined {
  for (const { stepId, startedAt, finishedAt } of steps) {
    if (finishedAt !== undefined && Date.parse(finishedAt) < Date.parse(startedAt))
      return `The step ${stepId} has finishedAt ${finishedAt}, which is before its startedAt ${startedAt}.`;
    for (const time of finishedAt === undefined ? [startedAt] : [startedAt, finishedAt]) {
      const from = now - runMilliseconds - dayMilliseconds;
      if (Date.parse(time) >= from && Date.parse(time) <= now + dayMilliseconds) continue;
      return `The step ${stepId} has the time ${time}, while the server has ${new Date(now).toISOString()}: set the clock of the agent's machine.`;
    }
  }
  return undefined;
}
