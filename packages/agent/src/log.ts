/** The log: one JSON object per line on stdout. Never log variables, SQL, tokens or secrets. */
import { createLogWriter, descriptorTarget, type LogWriter } from '@headgate/contract/log-writer';

export const logLevels = ['debug', 'info', 'warn', 'error'] as const;
export type LogLevel = (typeof logLevels)[number];
export type LogFields = Readonly<Record<string, string | number | boolean | undefined>>;

export interface Log {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
}

export function createLog(options: {
  level: LogLevel;
  write: (line: string) => void;
  now?: () => Date;
}): Log {
  const { write } = options;
  const now = options.now ?? (() => new Date());
  const lowest = logLevels.indexOf(options.level);
  const at = (level: LogLevel) => (message: string, fields?: LogFields) => {
    if (logLevels.indexOf(level) < lowest) return;
    write(`${JSON.stringify({ time: now().toISOString(), level, part: 'agent', message, ...fields })}\n`);
  };
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
}

/**
 * Writes to standard output in the background. If that fails, the agent continues and reports it on stderr.
 */
export function openLogOutput(): LogWriter {
  const standardError = descriptorTarget(2);
  return createLogWriter({
    target: descriptorTarget(1),
    onFailure(reason) {
      // A failure here cannot be reported anywhere.
      standardError
        .write(
          `headgate agent: the log cannot be written: ${reason}. The agent continues; log lines are lost.\n`,
        )
        .catch(() => undefined);
    },
    lostNotice(lines, reason) {
      const time = new Date().toISOString();
      return `${JSON.stringify({ time, level: 'warn', part: 'agent', message: 'log lines were lost', lines, reason })}\n`;
    },
  });
}

/** The text of a caught value, for a message or a log line. */
export function getReason(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  // Node.js tried several addresses of a host: each has an error of its own, and the whole has no message.
  if (error instanceof AggregateError && error.message === '') return error.errors.map(getReason).join(', ');
  // fetch puts the actual reason, such as ECONNREFUSED, in `cause`.
  const cause = error.cause instanceof Error ? `: ${error.cause.message}` : '';
  return `${error.message}${cause}`;
}
