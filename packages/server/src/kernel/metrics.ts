/** The metrics at `/metrics`, in the Prometheus text format. */
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';

export interface Metrics {
  observeRequest(operation: string, status: number, seconds: number): void;
  countEndedWork(kind: string, status: string): void;
  /** Rows that retention deleted. */
  countRemovedRows(kind: string, rows: number): void;
  /** One attempt to send a mail of an alert. `dead`: the last one, which failed too. */
  countAlertMail(result: 'sent' | 'failed' | 'dead'): void;
  /** One attempt to send an event to a webhook. `dead`: the last one, which failed too. */
  countWebhookAttempt(result: 'delivered' | 'failed' | 'dead'): void;
  /** For how long the oldest delivery that is sent again has waited. */
  setOldestWebhookDelivery(seconds: number): void;
  /** A tick of a schedule: what became of it, and how late it was. */
  observeTick(result: string, lateSeconds: number): void;
  /** A time for which the event loop did nothing else, and what caused it. */
  observeLoopGap(operation: string, seconds: number): void;
  watchWaitingClaims(read: () => number): void;
  watchLostLogLines(read: () => number): void;
  watchUncaught(counts: Readonly<UncaughtCounts>): void;
  renderText(): Promise<string>;
  contentType: string;
}

/** Failures that nothing in the server caught, since the start. */
export interface UncaughtCounts {
  rejection: number;
  exception: number;
}

export function createMetrics(): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry, prefix: 'headgate_' });
  const requests = new Histogram({
    name: 'headgate_request_duration_seconds',
    help: 'Duration of requests, by operation and status',
    labelNames: ['operation', 'status'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 30],
    registers: [registry],
  });
  const outcome = new Counter({
    name: 'headgate_work_ended_total',
    help: 'Finished work, by kind and status',
    labelNames: ['kind', 'status'],
    registers: [registry],
  });
  const removed = new Counter({
    name: 'headgate_retention_removed_total',
    help: 'Rows removed by retention, by kind',
    labelNames: ['kind'],
    registers: [registry],
  });
  const attempts = new Counter({
    name: 'headgate_webhook_attempts_total',
    help: 'Attempts to send events to webhooks, by result: delivered, failed, dead',
    labelNames: ['result'],
    registers: [registry],
  });
  const alertMails = new Counter({
    name: 'headgate_alert_mails_total',
    help: 'Attempts to send mails of alerts, by result: sent, failed, dead',
    labelNames: ['result'],
    registers: [registry],
  });
  const oldestDelivery = new Gauge({
    name: 'headgate_webhook_oldest_waiting_seconds',
    help: 'Age of the oldest webhook delivery that failed and is sent again; 0 if there is none',
    registers: [registry],
  });
  const ticks = new Histogram({
    name: 'headgate_schedule_tick_lateness_seconds',
    help: 'How long after its time a tick of a schedule was handled, by result: fired, skipped, forbidden or missed',
    labelNames: ['result'],
    buckets: [0.25, 0.5, 1, 2, 5, 10, 60, 600, 3_600],
    registers: [registry],
  });
  const gaps = new Histogram({
    name: 'headgate_event_loop_gap_seconds',
    help: 'Gaps of the event loop of more than half a second, by the operation or job that caused them',
    labelNames: ['operation'],
    buckets: [1, 2, 5, 10, 30, 60],
    registers: [registry],
  });
  // Looking up a series by labels costs more than observing, so the few combinations are cached.
  const series = new Map<string, { observe(seconds: number): void }>();
  return {
    observeRequest(operation, status, seconds) {
      const key = `${operation} ${status}`;
      let found = series.get(key);
      if (found === undefined) {
        found = requests.labels(operation, String(status));
        series.set(key, found);
      }
      found.observe(seconds);
    },
    countEndedWork: (kind, status) => outcome.labels(kind, status).inc(),
    countRemovedRows: (kind, rows) => removed.labels(kind).inc(rows),
    countAlertMail: (result) => alertMails.labels(result).inc(),
    countWebhookAttempt: (result) => attempts.labels(result).inc(),
    setOldestWebhookDelivery: (seconds) => oldestDelivery.set(seconds),
    observeTick: (result, lateSeconds) => ticks.labels(result).observe(Math.max(lateSeconds, 0)),
    observeLoopGap: (operation, seconds) => gaps.labels(operation).observe(seconds),
    watchWaitingClaims(read) {
      const gauge: Gauge<string> = new Gauge({
        name: 'headgate_claims_waiting',
        help: 'Long polls of agents waiting for work',
        registers: [registry],
        collect: (): void => gauge.set(read()),
      });
    },
    watchLostLogLines(read) {
      const counter: Counter<string> = new Counter({
        name: 'headgate_log_lines_lost_total',
        help: 'Log lines that could not be written',
        registers: [registry],
        collect(): void {
          counter.reset();
          counter.inc(read());
        },
      });
    },
    watchUncaught(counts) {
      const counter: Counter<string> = new Counter({
        name: 'headgate_uncaught_failures_total',
        help: 'Rejections and exceptions that nothing in the server caught',
        labelNames: ['kind'],
        registers: [registry],
        collect(): void {
          counter.reset();
          for (const [kind, count] of Object.entries(counts)) counter.labels(kind).inc(count);
        },
      });
    },
    renderText: () => registry.metrics(),
    contentType: registry.contentType,
  };
}
