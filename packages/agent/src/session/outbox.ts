/**
 * The queue of reports to the server: numbered per (work, epoch), sent in batches, and sent again until
 * accepted. Several changes of a step are sent as one, so the queue is bounded by the number of steps while
 * the server is unavailable.
 */
import type {
  LogLine,
  Report,
  ReportsRequest,
  ReportsResponse,
  RunVariables,
  Step,
  StepLineage,
  TestResult,
} from '@headgate/contract';
import {
  logLineLimit,
  reportedLineageLimit,
  reportedLinesLimit,
  reportLimit,
} from '@headgate/contract/without-schemas';
import { createBackoff } from '../backoff.ts';
import { getReason, type Log } from '../log.ts';
import type { Time } from '../time.ts';
import { cleanText } from './clean-text.ts';
import { ControlPlaneError, isTransient } from './control-plane.ts';
import { limitEnding, limitLineage, limitResult, limitStep, limitVariables } from './report-limits.ts';

/** Progress of a run is collected for this time before it is sent. Its end is sent with it, and earlier. */
const gatherMilliseconds = 100;
/** Starts and ends wait for this time for those of other work, if there is other work. */
const shortGatherMilliseconds = 3;
const stepsPerReport = 500;
const resultsPerReport = 20;
const batchLimitCharacters = 1_000_000;

/** Ends a wait. */
const woken = new Error('there are reports');

export interface WorkKey {
  workId: string;
  epoch: number;
}

export type Outcome = Extract<Report, { type: 'completed' }>['outcome'];
interface Progress {
  type: 'progress';
  steps: Step[];
  lines?: LogLine[];
  variables?: RunVariables[];
  lineage?: StepLineage[];
}
type Ending = { type: 'completed'; outcome: Outcome } | { type: 'released'; reason: string };

/**
 * `lost`: the work has another holder or has ended, so its reports were dropped. `unreadable`: the server
 * refused a report's content, so its progress was dropped, but its end can still be reported.
 */
export type Refusal = { kind: 'lost' | 'unreadable'; detail: string };

export interface OutboxOptions {
  send(reports: ReportsRequest['reports'], signal: AbortSignal): Promise<ReportsResponse>;
  onRefused(key: WorkKey, refusal: Refusal): void;
  /** The server accepted this report. */
  onTaken(report: Report): void;
  /** The last report of this work was accepted or dropped. */
  onSettled(key: WorkKey): void;
  log: Log;
  time: Time;
}

interface Channel extends WorkKey {
  /** The number of the last report. */
  sequence: number;
  /** Numbered reports that are not accepted yet, oldest first. */
  reports: Report[];
  steps: Map<string, Step>;
  /** Of steps that are not numbered yet. */
  lineage: Map<string, StepLineage>;
  /** The last step that was numbered. Lines and variables are sent with a step. */
  lastStep: Step | undefined;
  lines: LogLine[];
  /** The number of the last line. */
  lastLine: number;
  variables: RunVariables[];
  /** Results of tests that are not in a report yet. */
  results: TestResult[];
  ending: Ending | undefined;
  /** The server refused steps, which its end must say. */
  hasRefusedSteps: boolean;
  /** When its collected changes are sent at the latest; undefined if there are none. */
  due: number | undefined;
  mask: (text: string) => string;
}

export class Outbox {
  readonly #options: OutboxOptions;
  readonly #channels = new Map<string, Channel>();
  #wake: () => void = () => undefined;
  /** Reports per call. 1 after the server refused a batch, to find the unreadable report. */
  #limit = reportLimit;

  constructor(options: OutboxOptions) {
    this.#options = options;
  }

  get isEmpty(): boolean {
    return this.#channels.size === 0;
  }

  open(key: WorkKey): void {
    const { workId, epoch } = key;
    const empty = {
      sequence: 0,
      reports: [],
      steps: new Map(),
      lineage: new Map(),
      lastStep: undefined,
      ending: undefined,
      hasRefusedSteps: false,
      due: undefined,
    };
    const log = { lines: [], lastLine: 0, variables: [], results: [] };
    this.#channels.set(getWorkName(key), { workId, epoch, ...empty, ...log, mask: (text) => text });
  }

  addStarted(key: WorkKey): void {
    const channel = this.#channels.get(getWorkName(key));
    if (channel) this.#add(channel, { type: 'started' });
    this.#expect(channel, this.#shortGather);
  }

  step(key: WorkKey, step: Step, lineage?: StepLineage): void {
    const channel = this.#channels.get(getWorkName(key));
    channel?.steps.set(step.stepId, limitStep(step, channel.mask));
    if (lineage !== undefined) channel?.lineage.set(step.stepId, limitLineage(lineage, channel.mask));
    this.#expect(channel, gatherMilliseconds);
  }

  addTested(key: WorkKey, result: TestResult): void {
    const channel = this.#channels.get(getWorkName(key));
    channel?.results.push(limitResult(result, channel.mask));
    this.#expect(channel, gatherMilliseconds);
  }

  line(key: WorkKey, line: Omit<LogLine, 'sequence'>): void {
    const channel = this.#channels.get(getWorkName(key));
    if (channel === undefined) return;
    channel.lastLine += 1;
    const text = cleanText(channel.mask(line.text), logLineLimit);
    channel.lines.push({ ...line, text, sequence: channel.lastLine });
    this.#expect(channel, gatherMilliseconds);
  }

  variables(key: WorkKey, variables: RunVariables): void {
    const channel = this.#channels.get(getWorkName(key));
    channel?.variables.push(limitVariables(variables, channel.mask));
  }

  /** Masks all texts in reports of this work by this mask, instead of the one before. */
  conceal(key: WorkKey, mask: (text: string) => string): void {
    const channel = this.#channels.get(getWorkName(key));
    if (channel) channel.mask = mask;
  }

  /** Adds the last report of this work. */
  end(key: WorkKey, ending: Ending): void {
    const channel = this.#channels.get(getWorkName(key));
    if (channel) channel.ending = ending;
    this.#expect(channel, this.#shortGather);
  }

  /** Only few changes of one work wait for those of another. */
  get #shortGather(): number {
    return this.#channels.size > 1 ? shortGatherMilliseconds : 0;
  }

  /** Sends the changes of the channel within this time. */
  #expect(channel: Channel | undefined, milliseconds: number): void {
    if (channel === undefined) return;
    const due = this.#options.time.now() + milliseconds;
    if (channel.due !== undefined && channel.due <= due) return;
    channel.due = due;
    this.#wake();
  }

  /** Drops all reports of this work. */
  drop(key: WorkKey): void {
    if (this.#channels.delete(getWorkName(key))) this.#options.onSettled(key);
  }

  /** Sends reports until `signal` is aborted. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    const backoff = createBackoff({ random: this.#options.time.random });
    while (!signal.aborted) {
      const batch = this.#nextBatch();
      if (batch.length === 0) {
        await this.#waitForReports(signal);
        continue;
      }
      try {
        const { results } = await this.#options.send(batch, signal);
        this.#settle(batch, results);
        this.#limit = reportLimit;
        backoff.reset();
      } catch (error) {
        if (signal.aborted) return;
        if (isUnreadable(error)) this.#isolate(batch, getReason(error));
        else await this.#pause(error, backoff.next(), signal);
      }
    }
  }

  async #pause(error: unknown, milliseconds: number, signal: AbortSignal): Promise<void> {
    this.#options.log.warn('reports were not accepted; retrying', {
      reason: getReason(error),
      passing: isTransient(error),
      waitMilliseconds: Math.round(milliseconds),
    });
    await this.#options.time.sleep(milliseconds, signal);
  }

  /** Waits until changes of a channel are due. */
  async #waitForReports(signal: AbortSignal): Promise<void> {
    const { time } = this.#options;
    const over = new AbortController();
    const dues = [...this.#channels.values()].flatMap(({ due }) => (due === undefined ? [] : [due]));
    await new Promise<void>((resolve) => {
      const done = () => {
        signal.removeEventListener('abort', done);
        this.#wake = () => undefined;
        over.abort(woken);
        resolve();
      };
      this.#wake = done;
      signal.addEventListener('abort', done);
      if (signal.aborted) done();
      else if (dues.length > 0)
        void time.sleep(Math.max(0, Math.min(...dues) - time.now()), over.signal).then(done);
    });
  }

  #add(
    channel: Channel,
    report: { type: 'started' } | Progress | { type: 'tested'; results: TestResult[] } | Ending,
  ): void {
    const { workId, epoch } = channel;
    channel.sequence += 1;
    channel.reports.push({ workId, epoch, sequence: channel.sequence, ...report });
  }

  #nextBatch(): Report[] {
    const batch: Report[] = [];
    let size = 0;
    const now = this.#options.time.now();
    for (const channel of this.#channels.values()) {
      if (channel.due === undefined || channel.due > now) continue;
      this.#number(channel);
      // Lines that came before the first step are sent with it.
      if (channel.reports.length === 0) channel.due = undefined;
      for (const report of channel.reports) {
        size += JSON.stringify(report).length;
        if (batch.length >= this.#limit || (batch.length > 0 && size > batchLimitCharacters)) return batch;
        batch.push(report);
      }
    }
    return batch;
  }

  /**
   * Turns collected changes into numbered reports. These never change, since the server may have accepted
   * them.
   */
  #number(channel: Channel): void {
    let steps: Step[] = [];
    let lineage: StepLineage[] = [];
    let size = 0;
    const add = () =>
      this.#add(channel, { type: 'progress', steps, ...(lineage.length === 0 ? {} : { lineage }) });
    for (const step of channel.steps.values()) {
      const found = channel.lineage.get(step.stepId);
      size += JSON.stringify(step).length + (found === undefined ? 0 : JSON.stringify(found).length);
      const isFull = steps.length === stepsPerReport || lineage.length === reportedLineageLimit;
      if (isFull || (steps.length > 0 && size > batchLimitCharacters / 2)) {
        add();
        [steps, lineage, size] = [[], [], 0];
      }
      steps.push(step);
      if (found !== undefined) lineage.push(found);
      channel.lastStep = step;
    }
    channel.steps.clear();
    channel.lineage.clear();
    if (steps.length > 0) add();
    this.#numberRecords(channel);
    while (channel.results.length > 0)
      this.#add(channel, { type: 'tested', results: channel.results.splice(0, resultsPerReport) });
    const final = channel.reports.at(-1)?.type;
    if (channel.ending && final !== 'completed' && final !== 'released') {
      this.#add(channel, limitEnding(withRefusal(channel.ending, channel), channel.mask));
    }
  }

  /** Numbers the collected lines and variables. Both are sent with a step that the server has, or gets now. */
  #numberRecords(channel: Channel): void {
    const { lastStep } = channel;
    if (lastStep === undefined) return;
    const frame: Progress = { type: 'progress', steps: [lastStep] };
    for (const variables of takeBatches(channel.variables, 100)) this.#add(channel, { ...frame, variables });
    for (const lines of takeBatches(channel.lines, reportedLinesLimit))
      this.#add(channel, { ...frame, lines });
  }

  #settle(batch: readonly Report[], results: ReportsResponse['results']): void {
    for (const [index, report] of batch.entries()) {
      const channel = this.#channels.get(getWorkName(report));
      const result = results[index];
      if (!channel || !result) continue;
      if (!result.accepted) {
        this.#options.onRefused(report, { kind: 'lost', detail: result.detail });
        this.drop(report);
        continue;
      }
      this.#options.onTaken(report);
      channel.reports = channel.reports.filter((waiting) => waiting.sequence > report.sequence);
      if (report.type === 'completed' || report.type === 'released') this.drop(report);
      else if (channel.reports.length === 0) this.#expectRest(channel);
    }
  }

  /** Changes that came while the others were sent. */
  #expectRest(channel: Channel): void {
    channel.due = undefined;
    if (channel.ending) this.#expect(channel, 0);
    else if (channel.steps.size + channel.lines.length + channel.results.length > 0)
      this.#expect(channel, gatherMilliseconds);
  }

  /** An unreadable report must not block the reports of other runs. */
  #isolate(batch: readonly Report[], detail: string): void {
    const [report] = batch;
    if (batch.length > 1 || !report) {
      this.#limit = 1;
      return;
    }
    this.#options.log.error('the server refuses a report', {
      workId: report.workId,
      type: report.type,
      detail,
    });
    const channel = this.#channels.get(getWorkName(report));
    if (!channel || report.type === 'completed' || report.type === 'released') {
      this.#options.onRefused(report, { kind: 'lost', detail });
      this.drop(report);
      return;
    }
    channel.reports = [];
    channel.steps.clear();
    channel.lineage.clear();
    channel.results = [];
    channel.lines = [];
    channel.variables = [];
    channel.sequence = report.sequence - 1;
    channel.hasRefusedSteps ||= report.type === 'progress';
    this.#options.onRefused(report, { kind: 'unreadable', detail });
  }
}

/** A restart must know that the run did more than its steps say. */
function withRefusal(ending: Ending, { hasRefusedSteps }: Channel): Ending {
  if (ending.type === 'released' || !hasRefusedSteps) return ending;
  return { ...ending, outcome: { ...ending.outcome, stepsRefused: true } };
}

/** The map key of one claim of one work. */
export function getWorkName(key: WorkKey): string {
  return `${key.workId}/${key.epoch}`;
}

function isUnreadable(error: unknown): boolean {
  return error instanceof ControlPlaneError && [400, 413, 422].includes(error.status);
}

/** Empties the list into batches, each limited in number and size. */
function takeBatches<Item>(items: Item[], most: number): Item[][] {
  const batches: Item[][] = [];
  let batch: Item[] = [];
  let size = 0;
  for (const item of items.splice(0)) {
    size += JSON.stringify(item).length;
    if (batch.length === most || (batch.length > 0 && size > batchLimitCharacters / 2)) {
      batches.push(batch);
      batch = [];
      size = JSON.stringify(item).length;
    }
    batch.push(item);
  }
  if (batch.length > 0) batches.push(batch);
  return batches;
}
