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
import { recordSuccess, releaseWork } from '../../../kernel/work/server-work.ts';
import type { AiSettings } from '../model/ai-settings.ts';
import type { Model } from '../model/model.ts';
import { nameWarehouse, type Tools } from '../model/tool-set.ts';
import { endTask, type HeldKey, type HeldTask, readHeld, requireTask } from './held-task.store.ts';
import type { LiveTexts } from './live-text.ts';
import { appendMessages, type NewMessage } from './message.store.ts';
import { buildTaskEvent } from './task-event.ts';
import { canMove, keyOfTask, stopKeyOf, tasksKey } from './task-state.ts';
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

/** `again`: there is more to do. A date: the task waits until then. `ended`: the task has ended. */
export type NextStep = 'again' | 'ended' | Date;

type LockedTask = Awaited<ReturnType<typeof requireTask>>;

/** People have sent something since the task was read: the step must be chosen again. */
export class StaleStep extends Error {}

/** Runs a transaction of the server that has the task. @throws LeaseLost */
export function writeStep<Result>(
  { database, wakes }: Pick<RunServices, 'database' | 'wakes'>,
  key: HeldKey,
  work: (tx: Transaction, locked: LockedTask) => Result | Promise<Result>,
): Promise<Result> {
  return database.transaction(async (tx) => {
    const locked = await requireTask(tx, key);
    const result = await work(tx, locked);
    tx.afterCommit(() => wakes.wake(keyOfTask(key.task_id), 'all'));
    return result;
  });
}

/** The same for a step that depends on what people decided: with what was read, or not at all. */
export function writeFreshStep<Result>(
  services: Pick<RunServices, 'database' | 'wakes'>,
  task: HeldTask,
  work: (tx: Transaction, locked: LockedTask) => Result | Promise<Result>,
): Promise<Result> {
  return writeStep(services, task, (tx, locked) => {
    if (locked.news !== task.news) throw new StaleStep();
    return work(tx, locked);
  });
}

export function recordTaskEvent(
  tx: Transaction,
  task: HeldTask,
  { name, after }: { name: AccountEvent['name']; after: object },
  { newId, now }: { newId: NewId; now: Date },
): void {
  const source = { accountId: task.account_id, actorId: null, actorKind: 'system', requestId: null } as const;
  recordEvents(tx, source, [buildTaskEvent(name, task.task_id, task, { after })], now, newId);
}

/** Moves the task to its end in the transaction of a step. */
export async function writeEnd(
  tx: Transaction,
  task: HeldTask,
  end: { from: AiTaskStatus; status: 'STOPPED' | 'ERRORED'; reason?: string | undefined },
  { newId, now }: { newId: NewId; now: Date },
): Promise<void> {
  if (!canMove(end.from, end.status))
    throw new Error(`A task cannot move from ${end.from} to ${end.status}.`);
  const { account_id, task_id } = task;
  tx.send(endTask, { account_id, task_id, status: end.status });
  const name = end.status === 'STOPPED' ? 'ai-task-stopped' : 'ai-task-errored';
  const after = { status: end.status, ...(end.reason === undefined ? {} : { reason: end.reason }) };
  recordTaskEvent(tx, task, { name, after }, { newId, now });
  await releaseWork(tx.query, task, { outcome: 'ended', dueAt: null, now });
}

const notMade = { outcome: 'STOPPED', text: 'The call was not made, because the task has ended.' } as const;
const interrupted = {
  outcome: 'FAILED',
  text: 'The call was interrupted. Its effect may have happened: check before you repeat it.',
} as const;

/** Ends the task with the reason as its last message. Its turn and its calls end too. */
export function endWith(
  services: RunServices,
  task: HeldTask,
  status: 'STOPPED' | 'ERRORED',
  message: AiMessageData & { type: 'state' | 'error' },
): Promise<'ended'> {
  const { clock, newId, tools } = services;
  const now = clock.now();
  return writeFreshStep(services, task, async (tx, { status: from }) => {
    const { last_turn: last } = task;
    // The next message begins another turn.
    if (last?.status === 'ASKED') writeTurnEnd(tx, task, { turn: last.turn, status: 'FAILED' }, now);
    const messages: NewMessage[] = task.calls.map(({ callId, groupId, toolName, status: before }) => {
      const end = before === 'RUNNING' ? interrupted : notMade;
      writeCallEnd(tx, task, { callId, outcome: end.outcome }, now);
      const data: AiMessageData = {
        ...{ type: 'tool-result', toolId: callId, toolName, ...end },
        ...nameWarehouse(tools, toolName, task.agent_config),
      };
      return { groupId, data };
    });
    appendMessages(tx, task, [...messages, { groupId: newId(), data: message }], now);
    const reason = message.type === 'state' ? message.reason : message.text;
    await writeEnd(tx, task, { from, status, reason }, { newId, now });
    return 'ended' as const;
  });
}

/**
 * Works until the task ends, waits, or is lost. The signal of `takeStep` is aborted by `lost`, or some time after a
 * stop was requested.
 */
export async function runTask(
  services: RunServices,
  key: HeldKey,
  lost: AbortSignal,
  takeStep: (services: RunServices, task: HeldTask, signal: AbortSignal) => Promise<NextStep>,
): Promise<void> {
  const stop = watchStop(services, key);
  const occupant = createOccupant('AI task');
  try {
    for (;;) {
      lost.throwIfAborted();
      const task = await readHeld(services.database.read, key, services.clock.now());
      stop.see(task);
      const signal = AbortSignal.any([lost, stop.signal]);
      const next = await occupyLoop(occupant, 'step', () => takeStep(services, task, signal)).catch(
        repeatIfStale,
      );
      if (next === 'ended') return;
      const interruptions = countBlock(services.log, task, Math.round(takeLongestGap(occupant)));
      if (task.attempts > 1 || interruptions !== task.interruptions)
        await recordSuccess(services.database.read, key, interruptions);
      if (next === 'again') continue;
      const end = { outcome: 'done', dueAt: next, now: services.clock.now() } as const;
      // Something new came after the task was read.
      if (await releaseWork(services.database.read, key, end)) services.wakes.wake(tasksKey, 'one');
      return;
    }
  } finally {
    stop.end();
  }
}

/** The interruptions in a row after a step that succeeded. */
function countBlock(log: Log, task: HeldTask, milliseconds: number): number {
  if (milliseconds < longestBlockMilliseconds) return 0;
  log.warn({ taskId: task.task_id, milliseconds }, 'a step of an AI task blocked the event loop');
  return task.interruptions + 1;
}

function repeatIfStale(failure: unknown): 'again' {
  if (failure instanceof StaleStep) return 'again';
  throw failure;
}

/** Aborts what is under way some time after a stop was requested, also if that comes during a long step. */
function watchStop({ wakes, settings, database, clock }: RunServices, key: HeldKey) {
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
class StopRequested extends Error {}

/** @throws the reason of the signal, if the lease is lost or the server stops: nothing more may be written then */
export function throwIfLost(signal: AbortSignal): void {
  if (signal.aborted && !(signal.reason instanceof StopRequested)) throw signal.reason;
}
