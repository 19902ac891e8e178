/** Whether something raises an alert of a rule, and the words of the alert. */
import { alertReasonLimit } from '@headgate/contract';
import { lateCode } from '../schedules/index.ts';
import type { Cause } from './cause.ts';

export interface Verdict {
  /** A rule raises one alert for it. */
  cause: string;
  reason: string;
}

const fewestSeconds = 60;

/** Undefined if the condition of the rule is not true. */
export function judge(cause: Cause, now: Date): Verdict | undefined {
  if (cause.condition_type === 'BUDGET') return judgeBudget(cause);
  const reason = cause.execution_id === null ? judgeSchedule(cause) : judgeRun(cause, now);
  if (reason === undefined) return undefined;
  const isOfSchedule = cause.condition_type === 'SCHEDULE_PROBLEM' || cause.execution_id === null;
  const since = cause.problem_since?.toISOString() ?? 'once';
  return {
    cause: isOfSchedule ? `${cause.schedule_id} ${since}` : (cause.execution_id ?? ''),
    // The execution has the whole message. PostgreSQL refuses half a character.
    reason: reason.slice(0, alertReasonLimit).toWellFormed(),
  };
}

/** Once for each event, which is recorded once a month. */
function judgeBudget({
  execution_id,
  schedule_id,
  problem_code: code,
  problem_since,
  problem_detail,
}: Cause) {
  if (execution_id !== null || schedule_id !== null || problem_detail === null) return undefined;
  return { cause: `${code} ${problem_since?.toISOString()}`, reason: problem_detail };
}

function judgeRun(cause: Cause, now: Date): string | undefined {
  const { condition_type: type, status, message } = cause;
  const name = `The pipeline ${JSON.stringify(cause.pipeline_name)} in ${JSON.stringify(cause.environment_name)}`;
  const explained = message === null ? '.' : `: ${message}`;
  const seconds = cause.seconds ?? 0;
  const hasRun = status !== 'SKIPPED' && status !== 'FORBIDDEN';
  switch (type) {
    case 'FAILED':
      return status === 'FAILED' ? `${name} failed${explained}` : undefined;
    case 'RECOVERED':
      return status === 'SUCCESS' && cause.followed_failure
        ? `${name} succeeded, after the execution before it failed.`
        : undefined;
    case 'LONGER_THAN':
      return hasRun && seconds > (cause.minutes ?? 0) * 60
        ? `${name} has taken ${describeSeconds(seconds)}, longer than ${cause.minutes} min.`
        : undefined;
    case 'LONGER_THAN_USUAL': {
      const { factor, usual_seconds: usual } = cause;
      if (!hasRun || factor === null || usual === null || seconds <= fewestSeconds) return undefined;
      return seconds > factor * usual
        ? `${name} has taken ${describeSeconds(seconds)}, more than ${factor} times its usual ${describeSeconds(usual)}.`
        : undefined;
    }
    case 'NOT_STARTED': {
      const { schedule_tick: tick, minutes } = cause;
      if (tick === null || minutes === null || status !== 'RUNNING') return undefined;
      const isLate = now.getTime() - tick.getTime() >= minutes * 60_000;
      return isLate
        ? `${name} has not been started by an agent ${minutes} min after its tick at ${tick.toISOString()}.`
        : undefined;
    }
    case 'SCHEDULE_PROBLEM':
      return status === 'FORBIDDEN'
        ? judgeSchedule({ ...cause, problem_detail: cause.problem_detail ?? message })
        : undefined;
    case 'BUDGET':
      return undefined;
  }
}

/** A tick that started no run. */
function judgeSchedule(cause: Cause): string | undefined {
  const { condition_type: type, problem_code: code, problem_detail: detail } = cause;
  if (detail === null || (type !== 'SCHEDULE_PROBLEM' && type !== 'NOT_STARTED')) return undefined;
  // No server was running: the schedule itself has no problem.
  if (code === lateCode && type === 'SCHEDULE_PROBLEM') return undefined;
  return `The schedule ${JSON.stringify(cause.schedule_name ?? '')} started no execution: ${detail}`;
}

/** 42 s, 1 min 50 s, 17 min, 3 h 20 min */
function describeSeconds(seconds: number): string {
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole} s`;
  const minutes = Math.floor(whole / 60);
  if (minutes < 10) return `${minutes} min ${whole % 60} s`;
  return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
