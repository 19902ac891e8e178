/**
 * Follows the log of a run as server-sent events. A stream reads the next lines only after its client has taken
 * the last ones, so a slow client holds little memory. Between reads it waits for the wake-ups that reports
 * give: all streams of a server share one listener.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { listPipelineExecutionLogs, streamPipelineExecutionLogs } from '@headgate/contract';
import { createWait, type Wakes } from '../../kernel/database/wakes.ts';
import type { StreamCall } from '../../kernel/endpoint/endpoint.ts';
import { Problem, problem } from '../../kernel/http/problems.ts';
import { toUuid } from '../../kernel/identifiers.ts';
import { executionStates } from './store/execution.ts';
import { followedRun, presentLine } from './store/run-record.store.ts';

/** Lines in one chunk. */
const chunkLines = 200;
/** The longest wait. Then the client gets a comment, and token and rights are checked again. */
const waitMilliseconds = 10_000;
/** Wake-ups that follow each other closely are served together. */
const restMilliseconds = 100;
const mostInteger = 2 ** 31 - 1;

type Call = StreamCall<typeof streamPipelineExecutionLogs> | StreamCall<typeof listPipelineExecutionLogs>;

export interface LogStreamServices {
  wakes: Wakes;
  /** Aborted when the server stops. */
  stopping: AbortSignal;
}

/** The key of the wake-ups for news of an execution's log. */
export function getLogKey(executionId: string): string {
  return `log:${executionId}`;
}

/**
 * Checks the request, and returns the text of the stream. Undefined: the run has ended, and the client has its last
 * line.
 *
 * @throws `execution-not-found`, and the refusals of a read
 */
export async function followLog(
  call: Call,
  services: LogStreamServices,
): Promise<AsyncGenerator<string> | undefined> {
  const lastId = call.headers['Last-Event-Id'] ?? '';
  const after = Math.min(Number(lastId), mostInteger);
  const { executionId, lines, status } = await readAfter(call, after);
  if (lastId !== '' && lines.length === 0 && executionStates.isEnd(status)) return undefined;
  return renderEvents(call, services, { after, key: getLogKey(executionId) });
}

async function* renderEvents(
  call: Call,
  { wakes, stopping }: LogStreamServices,
  { after: from, key }: { after: number; key: string },
): AsyncGenerator<string> {
  let after = from;
  yield 'retry: 2000\n\n';
  for (;;) {
    // Begun before the read, so that lines that are written during the read end the wait.
    const wait = createWait(wakes, key);
    try {
      if (stopping.aborted) return yield renderEnd({ reason: 'shutdown' });
      const found = await readAfter(call, after).catch(describeRefusal);
      if ('reason' in found) return yield renderEnd(found);
      const { lines, status, last } = found;
      if (lines.length > 0) {
        yield lines.map((line) => renderEvent('line', line, line.sequence)).join('');
        after = lines.at(-1)?.sequence ?? after;
        continue;
      }
      // With an id, so that a client that connects again is told that there is nothing more.
      if (executionStates.isEnd(status))
        return yield renderEvent('end', { reason: 'ended', status }, Math.max(after, last));
      // The lines in between are of other steps.
      after = Math.max(after, last);
      const woken = await wait.waitAtMost(waitMilliseconds, AbortSignal.any([stopping, call.closed]));
      if (call.closed.aborted) return;
      if (!woken) yield ': no news\n\n';
    } finally {
      wait.end();
    }
    if (!stopping.aborted) await delay(restMilliseconds);
  }
}

/** The state of the run and its next lines. Checks the token and the rights of the caller. */
async function readAfter(call: Call, after: number) {
  const { params, query } = call;
  const id = params.pipelineExecutionId;
  await call.checkToken();
  const { rows, total } = await call.read().page(followedRun, {
    run_id: toUuid(id),
    after,
    step_id: query.stepId === undefined ? null : toUuid(query.stepId),
    limit: chunkLines,
  });
  if (total === null) throw problem('execution-not-found', { id });
  return { lines: rows.map(presentLine), ...total };
}

interface End {
  reason: 'token-expired' | 'forbidden' | 'shutdown' | 'unavailable';
}

function describeRefusal(failure: unknown): End {
  if (!(failure instanceof Problem)) return { reason: 'unavailable' };
  if (failure.code === 'token-invalid') return { reason: 'token-expired' };
  return { reason: failure.status === 403 || failure.status === 404 ? 'forbidden' : 'unavailable' };
}

function renderEnd(end: End): string {
  return renderEvent('end', end);
}

/** JSON has no line breaks, so `data` is one line. */
function renderEvent(name: string, data: object, id?: number): string {
  return `${id === undefined ? '' : `id: ${id}\n`}event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
}
