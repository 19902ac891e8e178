/**
 * Follows the messages of one task as server-sent events, with the text of a turn as it is made. Each message has an
 * id to go on after. Pieces of text have none, because the message with the whole text follows.
 */
import type { streamAiTaskMessages } from '@headgate/contract';
import { createWait, type Wakes } from '../../kernel/database/wakes.ts';
import type { StreamCall } from '../../kernel/endpoint/endpoint.ts';
import { makePagingToken } from '../../kernel/http/paging.ts';
import { Problem, problem } from '../../kernel/http/problems.ts';
import { toUuid } from '../../kernel/identifiers.ts';
import { guardedRead } from '../../kernel/security/guarded-read.ts';
import { presentMessage, readPosition } from './message-page.ts';
import type { LiveText, LiveTexts } from './store/live-text.ts';
import { messagesAfter, type ShownMessageRow } from './store/message.store.ts';
import { followKeyOf, keyOfTask } from './store/task-state.ts';

type Call = StreamCall<typeof streamAiTaskMessages>;

export interface StreamServices {
  wakes: Wakes;
  live: LiveTexts;
  stopping: AbortSignal;
}

const chunk = 200;
const heartbeatMilliseconds = 10_000;

/** No row: the task was deleted. */
const textOfTurn = guardedRead(
  { parameters: { task_id: 'uuid' }, row: { group_id: 'uuid?', text_so_far: 'text?' } },
  `
  select u.group_id, u.text_so_far from ai_task t
  left join lateral (
    select group_id, text_so_far from ai_turn
    where account_id = $account_id and task_id = $task_id and status = 'ASKED' order by turn desc limit 1) u on true
  where t.account_id = $account_id and t.task_id = $task_id`,
);

/** @throws `invalid-request` for an id, `forbidden`, `ai-task-not-found` */
export async function followMessages(call: Call, services: StreamServices): Promise<AsyncGenerator<string>> {
  const position = readPosition(call.headers['Last-Event-Id'], 'headers.Last-Event-ID');
  const taskId = toUuid(call.params.taskId);
  // Refuses before the stream begins.
  await call.read().rows(messagesAfter, { task_id: taskId, after: position, limit: 1 });
  return render(call, services, taskId, position);
}

async function* render(
  call: Call,
  services: StreamServices,
  taskId: string,
  from: number,
): AsyncGenerator<string> {
  const { closed, query } = call;
  const until =
    query.seconds === undefined ? Number.POSITIVE_INFINITY : performance.now() + query.seconds * 1_000;
  const shown: Shown = { groupId: '', length: 0 };
  let position = from;
  let checkedAt = performance.now();
  yield 'retry: 2000\n\n';
  while (!closed.aborted) {
    const news = new News(services, taskId, closed);
    try {
      if (services.stopping.aborted) return yield renderEnd('shutdown');
      await call.checkToken();
      const rows = await call.read().rows(messagesAfter, { task_id: taskId, after: position, limit: chunk });
      checkedAt = performance.now();
      position = rows.at(-1)?.position ?? position;
      if (rows.length > 0) yield rows.map(renderMessage).join('');
      // Text until there is a message, or it is time to check the caller again.
      let text = renderText(shown, await readText(call, services, taskId));
      if (text !== '') yield text;
      const isAtEnd = rows.length < chunk;
      if (performance.now() >= until && isAtEnd) return yield renderEnd('time-over');
      while (isAtEnd && !news.hasMessages && !closed.aborted && !services.stopping.aborted) {
        const left = Math.min(until, checkedAt + heartbeatMilliseconds) - performance.now();
        if (left <= 0) break;
        await news.waitAtMost(left);
        text = renderText(shown, services.live.read(taskId));
        if (text !== '') yield text;
      }
      if (isAtEnd && !news.hasMessages && performance.now() < until) yield ': no news\n\n';
    } catch (failure) {
      return yield renderEnd(describeFailure(failure));
    } finally {
      news.end();
    }
  }
}

/** What happens to the task while the stream looks elsewhere. */
class News {
  hasMessages = false;
  #resolve: (() => void) | undefined;
  readonly #end: () => void;
  #isWoken = false;

  constructor({ wakes, live, stopping }: StreamServices, taskId: string, closed: AbortSignal) {
    const wait = createWait(wakes, keyOfTask(taskId));
    const wake = () => {
      this.#isWoken = true;
      this.#resolve?.();
    };
    wait.waitAtMost(2 ** 31 - 1, closed).then((isNews) => {
      if (isNews) this.hasMessages = true;
      wake();
    });
    const leave = live.follow(taskId, wake);
    stopping.addEventListener('abort', wake);
    this.#end = () => {
      leave();
      stopping.removeEventListener('abort', wake);
      wait.end();
      wait.wake();
    };
  }

  async waitAtMost(milliseconds: number): Promise<void> {
    if (!this.#isWoken) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#resolve = resolve;
      const timer = setTimeout(resolve, milliseconds);
      await promise;
      clearTimeout(timer);
    }
    this.#isWoken = false;
  }

  end(): void {
    this.#end();
  }
}

/** How much of the text of a turn the client has. */
interface Shown {
  groupId: string;
  length: number;
}

/** The text of the turn that is under way. Another server that asks the model learns that there is a follower. */
async function readText(
  call: Call,
  { live, wakes }: StreamServices,
  taskId: string,
): Promise<LiveText | undefined> {
  const here = live.read(taskId);
  if (here !== undefined) return here;
  const [row] = await call.read().rows(textOfTurn, { task_id: taskId });
  if (row === undefined) throw problem('ai-task-not-found', { id: taskId });
  const { group_id: groupId, text_so_far: text } = row;
  if (groupId === null) return undefined;
  wakes.wake(followKeyOf(taskId), 'all');
  return text === null ? undefined : { groupId, text };
}

/** The new part of the text; from the beginning for a new turn, and after the model was asked again. */
function renderText(shown: Shown, live: LiveText | undefined): string {
  if (live === undefined) return '';
  if (live.groupId !== shown.groupId || live.text.length < shown.length)
    Object.assign(shown, { groupId: live.groupId, length: 0 });
  if (live.text.length === shown.length) return '';
  const piece = { groupId: live.groupId, offset: shown.length, text: live.text.slice(shown.length) };
  shown.length = live.text.length;
  return `event: text\ndata: ${JSON.stringify(piece)}\n\n`;
}

function renderMessage(row: ShownMessageRow): string {
  return `id: ${makePagingToken(String(row.position))}\ndata: ${JSON.stringify(presentMessage(row))}\n\n`;
}

type StreamEnd = 'token-expired' | 'forbidden' | 'deleted' | 'time-over' | 'shutdown' | 'unavailable';

function renderEnd(reason: StreamEnd): string {
  return `event: end\ndata: ${JSON.stringify({ reason })}\n\n`;
}

function describeFailure(failure: unknown): StreamEnd {
  if (!(failure instanceof Problem)) return 'unavailable';
  if (failure.code === 'token-invalid') return 'token-expired';
  if (failure.code === 'forbidden') return 'forbidden';
  return failure.code === 'ai-task-not-found' ? 'deleted' : 'unavailable';
}
