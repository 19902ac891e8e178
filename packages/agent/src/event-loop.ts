/** Logs when the agent's event loop was blocked: meanwhile it sent no heartbeat. ADR 0076. */
import type { Log } from './log.ts';

const gapMilliseconds = 500;
const tickMilliseconds = 250;

/** Watches until `stop` is called. */
export function watchLoop(log: Log): { stop(): void } {
  let last = performance.now();
  const timer = setInterval(() => {
    const now = performance.now();
    const milliseconds = Math.round(now - last - tickMilliseconds);
    last = now;
    if (milliseconds > gapMilliseconds) log.warn('the event loop was blocked', { milliseconds });
  }, tickMilliseconds).unref();
  return { stop: () => clearInterval(timer) };
}
