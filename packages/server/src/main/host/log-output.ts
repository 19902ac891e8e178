/** Opens the server's log: standard output, or a rotating file. */
import { join } from 'node:path';
import { createLogWriter, descriptorTarget, type LogTarget } from '@headgate/contract/log-writer';
import { createLog, type Log } from '../../kernel/log.ts';
import type { Config } from '../config.ts';
import { createRotatingFile } from './rotating-file.ts';

export interface LogOutput {
  log: Log;
  /** For the banner: a path, or `standard output`. */
  place: string;
  /** Lines that could not be written since the start. */
  lostLines(): number;
  /** Returns whether the last lines were written in time. */
  close(withinMilliseconds: number): Promise<boolean>;
}

const fileBytes = 50 * 1_048_576;
const warning = 40;

/**
 * On a terminal the operator reads the banner, so the log goes to a file. Elsewhere it goes to standard
 * output, for the supervisor to collect.
 */
export function chooseLogFile(config: Config): string | undefined {
  return config.logFile ?? (process.stdout.isTTY ? join(config.dataDirectory, 'server.log') : undefined);
}

export function openLogOutput(config: Config): LogOutput {
  const file = chooseLogFile(config);
  const place = file ?? 'standard output';
  const target: LogTarget = file === undefined ? descriptorTarget(1) : createRotatingFile(file, fileBytes);
  const standardError = descriptorTarget(2);
  const writer = createLogWriter({
    target,
    onFailure(reason) {
      // Standard error is the last resort: its own failure cannot be reported anywhere.
      standardError
        .write(
          `headgate: the log cannot be written to ${place}: ${reason}. Headgate continues; log lines are lost.\n`,
        )
        .catch(() => undefined);
    },
    lostNotice(lines, reason) {
      const line = {
        level: warning,
        time: new Date().toISOString(),
        lines,
        reason,
        msg: 'log lines were lost',
      };
      return `${JSON.stringify(line)}\n`;
    },
  });
  return {
    log: createLog(config.logLevel, writer),
    place,
    lostLines: writer.lostLines,
    close: writer.close,
  };
}
