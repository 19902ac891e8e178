/** Where the server's log goes: standard output, or a file with rotation. */
import { join } from 'node:path';
import { createLogWriter, descriptorTarget, type LogTarget } from '@headgate/contract/log-writer';
import { createLog, type Log } from '../../kernel/log.ts';
import type { Config } from '../config.ts';
import { rotatingFile } from './rotating-file.ts';

export interface LogOutput {
  log: Log;
  /** For people: a path, or `standard output`. */
  place: string;
  /** Lines that could not be written since the start. */
  lostLines(): number;
  /** Answers whether the last lines were written in time. */
  close(withinMilliseconds: number): Promise<boolean>;
}

const fileBytes = 50 * 1_048_576;
const warning = 40;

/**
 * On a terminal people read the banner, and the log goes to a file; elsewhere it goes to standard output, for
 * whatever collects it.
 */
export function logFileOf(config: Config): string | undefined {
  return config.logFile ?? (process.stdout.isTTY ? join(config.dataDirectory, 'server.log') : undefined);
}

export function openLogOutput(config: Config): LogOutput {
  const file = logFileOf(config);
  const place = file ?? 'standard output';
  const target: LogTarget = file === undefined ? descriptorTarget(1) : rotatingFile(file, fileBytes);
  const standardError = descriptorTarget(2);
  const writer = createLogWriter({
    target,
    onFailure(reason) {
      // There is no other place left to report a failure of this one.
      standardError
        .write(
          `headgate: the log cannot be written to ${place}: ${reason}. Headgate goes on; lines are lost.\n`,
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
