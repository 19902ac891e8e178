/**
 * Writes a log in the background. A caller never waits and never gets an error: a log that cannot be written
 * must not end a program. The server and the agent use it; it is an entry of its own, because the rest of
 * this package does no I/O.
 *
 * Terminology
 *   target   where the lines go: a descriptor, or a file with rotation
 *   lost     a line that was dropped, because the target failed or because too much was waiting for it
 */
import { write as writeCallback } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';

export interface LogTarget {
  /** Resolves when the whole text is written. */
  write(text: string): Promise<void>;
  close?(): Promise<void>;
}

export interface LogWriter {
  /** Takes one line, or several, each with its line feed. */
  write(text: string): void;
  /** How many lines were lost since the start. */
  lostLines(): number;
  /** Writes what waits and closes the target. Answers whether that was done in time. */
  close(withinMilliseconds: number): Promise<boolean>;
}

export interface LogWriterOptions {
  target: LogTarget;
  /** Called once when lines begin to be lost, and again only after the target took lines in between. */
  onFailure(reason: string): void;
  /** The line that the log goes on with after lines were lost. */
  lostNotice(lines: number, reason: string): string;
  flushMilliseconds?: number;
  /** After a failure the target is left alone for this long. */
  retryMilliseconds?: number;
  /** In characters: beyond this, lines are lost. */
  mostWaiting?: number;
}

/** This much is written at once, without waiting for more lines. */
const enough = 4_096;

export function createLogWriter(options: LogWriterOptions): LogWriter {
  const { target, onFailure, lostNotice } = options;
  const { flushMilliseconds = 200, retryMilliseconds = 1_000, mostWaiting = 8 * 1_048_576 } = options;
  let waiting: string[] = [];
  let waitingLength = 0;
  let lost = 0;
  let noticed = 0;
  let reason = '';
  let isFailing = false;
  let isReported = false;
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> | undefined;

  function lose(texts: readonly string[], why: string): void {
    for (const text of texts) lost += countLines(text);
    reason = why;
    if (isReported) return;
    isReported = true;
    onFailure(why);
  }

  function schedule(milliseconds: number): void {
    timer ??= setTimeout(drain, milliseconds).unref();
  }

  function drain(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    running ??= writeAll().finally(() => {
      running = undefined;
    });
    return running;
  }

  function takeWaiting(): string[] {
    const taken = waiting;
    waiting = [];
    waitingLength = 0;
    return taken;
  }

  async function writeAll(): Promise<void> {
    while (waiting.length > 0 || lost > noticed) {
      const texts = takeWaiting();
      const lostSoFar = lost;
      const notice = lost > noticed ? lostNotice(lost - noticed, reason) : '';
      try {
        await target.write(texts.join('') + notice);
        isFailing = false;
        noticed = lostSoFar;
        isReported = lost > noticed;
      } catch (failure) {
        isFailing = true;
        lose([...texts, ...takeWaiting()], reasonOf(failure));
        schedule(retryMilliseconds);
        return;
      }
    }
  }

  return {
    write(text) {
      if (isFailing) return lose([text], reason);
      if (waitingLength + text.length > mostWaiting) return lose([text], 'its target takes no more lines');
      waiting.push(text);
      waitingLength += text.length;
      if (waitingLength >= enough) void drain();
      else schedule(flushMilliseconds);
    },
    lostLines: () => lost,
    async close(withinMilliseconds) {
      const closed = drain()
        .then(() => target.close?.())
        .then(
          () => true,
          () => true,
        );
      const late = new AbortController();
      const bound = delay(withinMilliseconds, false, { signal: late.signal }).catch(() => false);
      const inTime = await Promise.race([closed, bound]);
      late.abort();
      return inTime;
    },
  };
}

const write = promisify(writeCallback);

/** Standard output or error. A pipe that is full is waited for. */
export function descriptorTarget(descriptor: number): LogTarget {
  let isCut = false;
  return {
    async write(text) {
      // After a failure in the middle of a line, the next one must not be glued to its beginning.
      let left = Buffer.from(isCut ? `\n${text}` : text);
      while (left.length > 0) {
        try {
          const { bytesWritten } = await write(descriptor, left);
          left = left.subarray(bytesWritten);
          isCut = left.length > 0;
        } catch (failure) {
          if (!isBusy(failure)) throw failure;
          await delay(busyMilliseconds);
        }
      }
    },
  };
}

const busyMilliseconds = 10;

/** A descriptor that does not block says this in place of waiting. */
function isBusy(failure: unknown): boolean {
  return failure instanceof Error && 'code' in failure && failure.code === 'EAGAIN';
}

function countLines(text: string): number {
  return Math.max(1, text.split('\n').length - 1);
}

function reasonOf(failure: unknown): string {
  return failure instanceof Error ? failure.message : String(failure);
}
