/** The limits of an agent's reports of the steps of one work. */
import type { ReportRefusal, Step } from '@headgate/contract';
import { stepLimit } from '@headgate/pipelines';
import type { StepTotals } from '../executions/index.ts';

/** The limit for the messages, statements and recorded values of all steps of one work. */
const messageBytesLimit = 256 * 1_048_576;
const dayMilliseconds = 86_400_000;

export interface StepBounds {
  now: Date;
  /** How long an agent may hold work. A step may have started that long ago. */
  runLimitSeconds: number;
  /** The totals of each work before these reports, without the steps that the reports repeat. */
  totals: StepTotals;
}

export interface StepFault {
  code: Extract<ReportRefusal, 'too-many-steps' | 'implausible-time'>;
  detail: string;
}

/** `heard`: the latest state of each step of this work in the reports so far, including `steps`, by id. */
export function findStepFault(
  workId: string,
  steps: readonly Step[],
  heard: ReadonlyMap<string, Step>,
  { now, runLimitSeconds, totals }: StepBounds,
): StepFault | undefined {
  const time = findTimeFault(steps, now.getTime(), runLimitSeconds * 1_000);
  if (time !== undefined) return { code: 'implausible-time', detail: time };
  const before = totals.get(workId) ?? { steps: 0, bytes: 0 };
  if (before.steps + heard.size > stepLimit) {
    const detail = `The work has more than ${stepLimit} steps. Split the pipeline, or let iterators process fewer rows.`;
    return { code: 'too-many-steps', detail };
  }
  let bytes = before.bytes;
  for (const { message = '', sql = '', restart } of heard.values())
    bytes += Buffer.byteLength(message) + Buffer.byteLength(sql) + measureRecord(restart);
  if (bytes <= messageBytesLimit) return undefined;
  const detail = `The messages, statements and values of the work's steps have more than ${messageBytesLimit} bytes. Print less.`;
  return { code: 'too-many-steps', detail };
}

/** Most steps change no variable, and lead to few components. */
function measureRecord(record: Step['restart']): number {
  if (record === undefined) return 0;
  const isSmall = record.variables === undefined && (record.next ?? []).length <= 10;
  return isSmall ? 0 : Buffer.byteLength(JSON.stringify(record));
}

function findTimeFault(steps: readonly Step[], now: number, runMilliseconds: number): string | undefined {
  for (const { stepId, startedAt, finishedAt } of steps) {
    if (finishedAt !== undefined && Date.parse(finishedAt) < Date.parse(startedAt))
      return `The step ${stepId} has finishedAt ${finishedAt} before its startedAt ${startedAt}.`;
    for (const time of finishedAt === undefined ? [startedAt] : [startedAt, finishedAt]) {
      const from = now - runMilliseconds - dayMilliseconds;
      if (Date.parse(time) >= from && Date.parse(time) <= now + dayMilliseconds) continue;
      return `The step ${stepId} has the time ${time}, but the server's time is ${new Date(now).toISOString()}. Set the clock of the agent's machine.`;
    }
  }
  return undefined;
}
