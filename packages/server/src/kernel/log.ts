import { type DestinationStream, destination, type Logger, pino } from 'pino';

export type Log = Logger;

export const logLevels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;
export type LogLevel = (typeof logLevels)[number];

/**
 * Structured logs, one JSON object a line, on standard output. Bodies, headers and secrets are never given to it;
 * an error is logged by its name, message and stack, without what a driver hangs on it (the parameters of a statement, say).
 * Lines are gathered and written together, at the latest `flushMilliseconds` after the first.
 */
export function createLog(level: LogLevel, stream?: DestinationStream): Log & { flushNow(): void } {
  const out = stream ?? destination({ fd: 1, sync: false, minLength: 4_096 });
  const log = pino(
    { level, base: null, timestamp: pino.stdTimeFunctions.isoTime, serializers: { err: plainError } },
    out,
  );
  const flushMilliseconds = 200;
  if (stream === undefined) setInterval(() => log.flush(), flushMilliseconds).unref();
  return Object.assign(log, {
    flushNow() {
      if ('flushSync' in out && typeof out.flushSync === 'function') out.flushSync();
    },
  });
}

function plainError(failure: unknown): object {
  if (!(failure instanceof Error)) return { message: String(failure) };
  const { name, message, stack } = failure;
  const code = 'code' in failure ? failure.code : undefined;
  const cause = failure.cause instanceof Error ? { cause: plainError(failure.cause) } : {};
  return { name, message, stack, ...(code === undefined ? {} : { code }), ...cause };
}
