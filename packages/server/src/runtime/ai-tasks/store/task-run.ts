/**
 * The work on one task, while this server has it: one step at a time, each of which is written before and after.
 * Another server goes on from any point: a turn without an answer is asked again, and a call that was begun is made
 * again with the same id, which its effects carry as their Idempotency-Key.
 */
import type { AiMessageData, AiTaskStatus } from '@headgate/contract';
import type { Clock } from '../../../kernel/clock.ts';
import type { Database, Transaction } from '../../../kernel/database/database.ts';
import { type AccountEvent, recordEvents } from '../../../kernel/database/events.ts';
import type { Wakes } from '../../../kernel/database/wakes.ts';
import { createOccupant, occupyLoop, takeLongestGap } from '../../../kernel/event-loop.ts';
import type { NewId } from '../../../kernel/identifiers.ts';
import type { Log } from '../../../kernel/log.ts';
import { longestBlockMilliseconds } from '../../../kernel/work/interruption.ts';
import type { AiSettings } from '../model/ai-settings.ts';
import type { Model } from '../model/model.ts';
import { nameWarehouse, type Tools } from '../model/tool-set.ts';
import {
  endTask,
  forgetFailures,
  type HeldKey,
  type HeldTask,
  readHeld,
  releaseTask,
  requireHeld,
} from './held-task.store.ts';
import type { LiveTexts } from './live-text.ts';
import { appendMessages, type NewMessage } from './message.store.ts';
import { buildTaskEvent, describeTask } from './task-event.ts';
import { canMove, keyOfTask, stopKeyOf } from './task-state.ts';
import { writeCallEnd, writeTurnEnd } from './turn.store.ts';

export interface RunServices {
  database: Database;
  clock: Clock;
  newId: NewId;
  log: Log;
  wakes: Wakes;
  settings: AiSettings;
  tools: Tools;
  model: Model;
  live: LiveTexts;
}

/** The task as it was read for a step, and the ways to write the step. */
export interface Step {
  readonly services: RunServices;
  readonly key: HeldKey;
  readonly task: HeldTask;
  /** Aborted when the lease is lost or the server stops: nothing more may be written then. */
  readonly lost: AbortSignal;
  /** Also aborted some time after a stop was requested. */
  readonly signal: AbortSignal;
}

/** `again`: there is more to do. A date: the task waits until then. `ended`: the task has ended. */
export type NextStep = 'again' | 'ended' | Date;

type Locked = Awaited<ReturnType<typeof requireHeld>>;

/** People have sent something since the task was read: the step must be chosen again. */
export class StaleStep extends Error {}

/** Runs a transaction of the server that has the task. @throws LeaseLost */
export function writeStep<Result>(
  { services, key }: Pick<Step, 'services' | 'key'>,
  work: (tx: Transaction, locked: Locked) => Result | Promise<Result>,
): Promise<Result> {
  return services.database.transaction(async (tx) => {
    const locked = await requireHeld(tx, key);
    const result = await work(tx, locked);
    tx.afterCommit(() => services.wakes.wake(keyOfTask(key.task_id), 'all'));
    return result;
  });
}

/** The same for a step that depends on what people decided: with what was read, or not at all. */
export function writeFreshStep<Result>(
  step: Pick<Step, 'services' | 'key' | 'task'>,
  work: (tx: Transaction, locked: Locked) => Result | Promise<Result>,
): Promise<Result> {
  return writeStep(step, (tx, locked) => {
    if (locked.news !== step.task.news) throw new StaleStep();
    return work(tx, locked);
  });
}

export function addMessages(
  { key }: Pick<Step, 'key'>,
  tx: Transaction,
  messages: readonly NewMessage[],
  now: Date,
): void {
  appendMessages(tx, { accountId: key.account_id, taskId: key.task_id }, messages, now);
}

export function recordTaskEvents(
  { services, key }: Pick<Step, 'services' | 'key'>,
  tx: Transaction,
  events: readonly AccountEvent[],
  now: Date,
): void {
  const source = { accountId: key.account_id, actorId: null, actorKind: 'system', requestId: null } as const;
  recordEvents(tx, source, events, now, services.newId);
}

/** Moves the task to its end in the transaction of a step. */
export function writeEnd(
  step: Pick<Step, 'services' | 'key' | 'task'>,
  tx: Transaction,
  end: { from: AiTaskStatus; status: 'STOPPED' | 'ERRORED'; reason?: string | undefined },
  now: Date,
): void {
  const { key, task } = step;
  if (!canMove(end.from, end.status))
    throw new Error(`A task cannot move from ${end.from} to ${end.status}.`);
  tx.send(endTask, { ...key, status: end.status });
  const name = end.status === 'STOPPED' ? 'ai-task-stopped' : 'ai-task-errored';
  const after = { status: end.status, ...(end.reason === undefined ? {} : { reason: end.reason }) };
  recordTaskEvents(step, tx, [buildTaskEvent(name, key.task_id, describeTask(task), { after })], now);
}

const notMade = { outcome: 'STOPPED', text: 'The call was not made, because the task has ended.' } as const;
const interrupted = {
  outcome: 'FAILED',
  text: 'The call was interrupted. Its effect may have happened: check before you repeat it.',
} as const;

/** Ends the task with the reason as its last message. Its turn and its calls end too. */
export function endWith(
  step: Pick<Step, 'services' | 'key' | 'task'>,
  status: 'STOPPED' | 'ERRORED',
  message: AiMessageData & { type: 'state' | 'error' },
): Promise<'ended'> {
  const { services, key, task } = step;
  const now = services.clock.now();
  return writeFreshStep(step, (tx, { status: from }) => {
    const { last_turn: last } = task;
    // The next message begins another turn.
    if (last?.status === 'ASKED') writeTurnEnd(tx, key, { turn: last.turn, status: 'FAILED' }, now);
    const messages: NewMessage[] = task.calls.map(({ callId, groupId, toolName, status: before }) => {
      const end = before === 'RUNNING' ? interrupted : notMade;
      writeCallEnd(tx, key, { callId, outcome: end.outcome }, now);
      const data: AiMessageData = {
        ...{ type: 'tool-result', toolId: callId, toolName, ...end },
        ...nameWarehouse(services.tools, toolName, task.agent_config),
      };
      return { groupId, data };
    });
    addMessages(step, tx, [...messages, { groupId: services.newId(), data: message }], now);
    writeEnd(
      step,
      tx,
      { from, status, reason: message.type === 'state' ? message.reason : message.text },
      now,
    );
    return 'ended' as const;
  });
}

/** Works until the task ends, waits, or is lost. `takeStep` does one step. */
export async function runTask(
  services: RunServices,
  key: HeldKey,
  lost: AbortSignal,
  takeStep: (step: Step) => Promise<NextStep>,
): Promise<void> {
  const stop = watchStop(services, key);
  const occupant = createOccupant('AI task');
  try {
    for (;;) {
      lost.throwIfAborted();
      const task = await readHeld(services.database.read, key, services.clock.now());
      stop.see(task);
      const signal = AbortSignal.any([lost, stop.signal]);
      const step = { services, key, task, lost, signal };
      const next = await occupyLoop(occupant, 'step', () => takeStep(step)).catch(repeatIfStale);
      if (next === 'ended') return;
      const interruptions = countBlock(step, Math.round(takeLongestGap(occupant)));
      if (task.failures > 0 || interruptions !== task.interruptions)
        await forgetFailures(services.database.read, key, interruptions);
      if (next === 'again') continue;
      if (await releaseTask(services.database.read, key, next, task.news)) return;
    }
  } finally {
    stop.end();
  }
}

/** The interruptions in a row after a step that succeeded. */
function countBlock({ services, key, task }: Step, milliseconds: number): number {
  if (milliseconds < longestBlockMilliseconds) return 0;
  services.log.warn({ taskId: key.task_id, milliseconds }, 'a step of an AI task blocked the event loop');
  return task.interruptions + 1;
}

function repeatIfStale(failure: unknown): 'again' {
  if (failure instanceof StaleStep) return 'again';
  throw failure;
}

interface StopWatch {
  signal: AbortSignal;
  see(task: HeldTask): void;
  end(): void;
}

/** Aborts what is under way some time after a stop was requested, also if that comes during a long step. */
function watchStop({ wakes, settings, database, clock }: RunServices, key: HeldKey): StopWatch {
  const stopped = new AbortController();
  const waiter = { number: 0, wake: () => void look() };
  let timer: NodeJS.Timeout | undefined;
  let hasEnded = false;
  const see = ({ stop_at: at }: Pick<HeldTask, 'stop_at'>) => {
    if (at !== null)
      timer ??= setTimeout(() => stopped.abort(new StopRequested()), settings.stopSeconds * 1_000);
  };
  const listen = () => wakes.wait(stopKeyOf(key.task_id), waiter);
  async function look(): Promise<void> {
    if (hasEnded) return;
    listen();
    await readHeld(database.read, key, clock.now()).then(see, () => undefined);
  }
  listen();
  return {
    signal: stopped.signal,
    see,
    end() {
      hasEnded = true;
      clearTimeout(timer);
      wakes.stopWaiting(stopKeyOf(key.task_id), waiter);
    },
  };
}

/** The reason of an abort after a stop was requested. */
export class StopRequested extends Error {}
