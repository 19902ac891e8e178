/** What a run records: its variables and its log, in pages and as a stream. */
import {
  listPipelineExecutionLogs,
  listPipelineExecutionVariables,
  streamPipelineExecutionLogs,
} from '@headgate/contract';
import type { Endpoints, ReadCall } from '../../kernel/endpoint/endpoint.ts';
import { computePageBounds, makePagingToken, readPagingToken } from '../../kernel/http/paging.ts';
import { createTokenProblem, problem } from '../../kernel/http/problems.ts';
import { toUuid } from '../../kernel/identifiers.ts';
import { followLog, type LogStreamServices } from './log-stream.ts';
import { logOfRun, presentLine, variablesOfRun } from './store/run-record.store.ts';

export function runRecordRoutes({ read, stream }: Endpoints, services: LogStreamServices): void {
  read(listPipelineExecutionVariables, async ({ params, query, page }) => {
    const id = params.pipelineExecutionId;
    const { limit, offset } = computePageBounds(query);
    const { rows, total } = await page(variablesOfRun, { run_id: toUuid(id), limit, offset });
    if (total === null) throw problem('execution-not-found', { id });
    return { body: { page: query.page, results: rows.map((row) => row.variable), size: limit, total } };
  });

  const listLines = async ({ params, query, page }: ReadCall<typeof listPipelineExecutionLogs>) => {
    const id = params.pipelineExecutionId;
    const { limit } = computePageBounds({ page: 0, size: query.limit });
    const { rows, total } = await page(logOfRun, {
      run_id: toUuid(id),
      after: query.paginationToken === undefined ? 0 : requireSequence(query.paginationToken),
      step_id: query.stepId === undefined ? null : toUuid(query.stepId),
      limit: limit + 1,
    });
    if (total === null) throw problem('execution-not-found', { id });
    const shown = rows.slice(0, limit);
    const last = shown.at(-1);
    const more =
      rows.length > limit && last !== undefined ? { more: makePagingToken(String(last.sequence)) } : {};
    return { body: { results: shown.map(presentLine), ...more } };
  };
  read(listPipelineExecutionLogs, listLines, (call) => followLog(call, services));
  stream(streamPipelineExecutionLogs, (call) => followLog(call, services));
}

function requireSequence(token: string): number {
  const text = readPagingToken(token) ?? '';
  if (!/^\d{1,9}$/.test(text)) throw createTokenProblem();
  return Number(text);
}
