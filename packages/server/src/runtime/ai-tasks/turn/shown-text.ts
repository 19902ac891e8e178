/** The text of a turn while it is made. */
import { aiTextLimit } from '@headgate/contract';
import type { HeldKey } from '../store/held-task.store.ts';
import { toStoredText } from '../store/stored-text.ts';
import type { RunServices } from '../store/task-run.ts';
import { followKeyOf, keyOfTask } from '../store/task-state.ts';
import { type NewTurn, writeTextSoFar } from '../store/turn.store.ts';

const shownEveryMilliseconds = 250;
/** A follower on another server asks again more often than this. */
const followedMilliseconds = 20_000;

/**
 * Shows the text to followers here at once. While there are followers on other servers, writes it to the row of the
 * turn too; it is only a preview, as the message follows in any case.
 */
export function showText(
  { live, database, wakes }: Pick<RunServices, 'live' | 'database' | 'wakes'>,
  key: HeldKey,
  { turn, groupId }: NewTurn,
) {
  const taskId = key.task_id;
  let timer: NodeJS.Timeout | undefined;
  let followedUntil = 0;
  let written = '';
  const write = () => {
    timer = undefined;
    const text = toStoredText(live.read(taskId)?.text ?? '', aiTextLimit);
    if (text === written) return;
    written = text;
    writeTextSoFar(database.read, key, turn, text).then(
      () => wakes.wake(keyOfTask(taskId), 'all'),
      () => undefined,
    );
  };
  const writeSoon = () => {
    if (performance.now() < followedUntil) timer ??= setTimeout(write, shownEveryMilliseconds);
  };
  const waiter = {
    number: 0,
    wake() {
      followedUntil = performance.now() + followedMilliseconds;
      wakes.wait(followKeyOf(taskId), waiter);
      writeSoon();
    },
  };
  live.begin(taskId, groupId);
  wakes.wait(followKeyOf(taskId), waiter);
  return {
    add(piece: string | undefined) {
      live.add(taskId, piece);
      writeSoon();
    },
    end() {
      clearTimeout(timer);
      wakes.stopWaiting(followKeyOf(taskId), waiter);
      live.end(taskId);
    },
  };
}
