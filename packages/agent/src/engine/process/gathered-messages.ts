/** Sends the messages of a run together where it can: each one costs both processes a tenth of a millisecond. */
import { setImmediate as startImmediate } from 'node:timers';
import type { FromRun, OfRun } from '../ports/run-messages.ts';

/** Messages that wait at the same time. */
const mostWaiting = 50;

export interface GatheredMessages {
  /** Sends what waits, then the message. */
  send(message: FromRun): void;
  /** Sends the message with the next one, or when the present turn of the process ends. */
  tell(message: OfRun): void;
  /** Sends what waits. */
  flush(): void;
}

export function gatherMessages(write: (message: FromRun) => void): GatheredMessages {
  let waiting: OfRun[] = [];
  let isPlanned = false;

  function flush(): void {
    const [first, ...others] = waiting;
    if (first === undefined) return;
    const messages = waiting;
    waiting = [];
    write(others.length === 0 ? first : { type: 'several', messages });
  }

  function tell(message: OfRun): void {
    if (replaceStep(waiting, message)) return;
    waiting.push(message);
    if (waiting.length >= mostWaiting) flush();
    if (isPlanned || waiting.length === 0) return;
    isPlanned = true;
    startImmediate(() => {
      isPlanned = false;
      flush();
    });
  }

  return {
    tell,
    flush,
    send(message) {
      if (waiting.length === 0 || message.type === 'ready' || message.type === 'several') {
        flush();
        write(message);
        return;
      }
      waiting.push(message);
      flush();
    },
  };
}

/** A step is reported in full each time, and most end at once: only its last report is sent. */
function replaceStep(waiting: OfRun[], message: OfRun): boolean {
  if (message.type !== 'step') return false;
  const { stepId } = message.step;
  const before = waiting.findIndex((each) => each.type === 'step' && each.step.stepId === stepId);
  if (before < 0) return false;
  waiting[before] = message;
  return true;
}
