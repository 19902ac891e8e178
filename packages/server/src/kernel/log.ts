import { type DestinationStream, type Logger, pino } from 'pino';

export type Log = Logger;

export const logLevels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;
export type LogLevel = (typeof logLevels)[number];

/**
 * Structured logs, one JSON object per line. Never pass bodies, headers or secrets. An error is logged with
 * its name, message, code, stack and cause only, because drivers attach other data, such as parameters.
 */
export function createLog(level: LogLevel, stream: DestinationStream): Log {
  return pino(
    { level, base: null, timestamp: pino.stdTimeFunctions.isoTime, serializers: { err: renderError } },
    stream,
  );
}

export const silentLog: Log = createLog('silent', { write: () => undefined });

/** A cause may refer to itself. */
const deepestCause = 5;

function renderError(failure: unknown, depth = 0): object {
  if (!(failure instanceof Error)) return { message: String(failure) };
  const { name, message, stack } = failure;
  const code = 'code' in failure && failure.code !== undefined ? { code: failure.code } : {};
  if (depth === deepestCause) return { name, message, ...code };
  const cause = failure.cause === undefined ? {} : { cause: renderError(failure.cause, depth + 1) };
  const several = failure instanceof AggregateError ? { errors: renderErrors(failure, depth) } : {};
  return { name, message, stack, ...code, ...cause, ...several };
}

/** For example of a connection that failed at several addresses; the AggregateError itself has no message. */
function renderErrors(failure: AggregateError, depth: number): object[] {
  return failure.errors.slice(0, deepestCause).map((each) => renderError(each, depth + 1));
}
