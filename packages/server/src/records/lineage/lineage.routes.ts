import {
  getLineageGraph,
  type LineageEvent,
  listDatasets,
  listLineageEvents,
  nearestName,
} from '@headgate/contract';
import type { Clock } from '../../kernel/clock.ts';
import type { Endpoints } from '../../kernel/endpoint/endpoint.ts';
import { createSlices } from '../../kernel/event-loop.ts';
import { computePageBounds } from '../../kernel/http/paging.ts';
import { invalidRequest, problem } from '../../kernel/http/problems.ts';
import { createFullRanges } from '../events/index.ts';
import { datasetPage, presentDataset } from './dataset.store.ts';
import { lineageEventPage } from './lineage-event.store.ts';
import { lineageNames, lineageStart, splitColumn } from './lineage-graph.store.ts';
import { buildColumnGraph, buildDatasetGraph } from './lineage-graph.ts';
import { walkColumns, walkDatasets } from './lineage-walk.ts';
import { renderRunEvent } from './run-event.ts';

export interface LineageServices {
  clock: Clock;
  config: { lineageScheme: string };
}

const mostCharactersOfPage = 32 * 1_048_576;

export function lineageRoutes({ read }: Endpoints, { clock, config }: LineageServices): void {
  const fullRanges = createFullRanges(clock);

  read(listLineageEvents, async ({ query, scope, page }) => {
    const [from, before] = [new Date(query.generatedFrom), new Date(query.generatedBefore)];
    if (from >= before)
      throw invalidRequest([
        {
          field: 'query.generatedBefore',
          pointer: '/query/generatedBefore',
          detail: 'must be after `generatedFrom`',
        },
      ]);
    const { limit, offset } = computePageBounds(query);
    const request = { accountId: scope.accountId, filters: [], from, to: before };
    const count = fullRanges.contains(request) ? 'full' : 'counted';
    const { rows, total } = await page(lineageEventPage[count], { from, before, limit, offset });
    fullRanges.learn(request, total);
    const results: LineageEvent[] = [];
    const endSlice = createSlices();
    let characters = 0;
    for (const { record } of rows) {
      const event = renderRunEvent(config.lineageScheme, record);
      results.push({ id: `${record.runId}-${record.eventType}`, event });
      // An event repeats names that its record has once.
      characters += JSON.stringify(event).length;
      if (characters > mostCharactersOfPage) throw problem('response-too-large');
      await endSlice();
    }
    return { body: { page: query.page, results, size: limit, total: total.counted } };
  });

  read(listDatasets, async ({ query, page }) => {
    const { limit, offset } = computePageBounds(query);
    const name = query.environmentName;
    const { rows, total } = await page(datasetPage, { environment_name: name, limit, offset });
    if (total === null) throw problem('environment-not-found', { name });
    const results = rows.map((row) => presentDataset(name, row));
    return { body: { page: query.page, results, size: limit, total } };
  });

  read(getLineageGraph, async ({ query, rows }) => {
    const { environmentName, dataset, pipeline, column, direction = 'BOTH', depth } = query;
    const [start, ...others] = Object.entries({ dataset, pipeline, column }).flatMap(([field, name]) =>
      name === undefined ? [] : [{ field, name }],
    );
    if (start === undefined || others.length > 0) throw requireOneStart(others.at(-1)?.field);
    const [found] = await rows(lineageStart, {
      environment_name: environmentName,
      dataset_name: dataset ?? null,
      pipeline_name: pipeline ?? null,
      ...splitColumn(column),
    });
    if (found === undefined) throw problem('environment-not-found', { name: environmentName });
    const { datasets, pipelines, columns } = found;
    if (datasets.length + pipelines.length + columns.length === 0) {
      const names = await rows(lineageNames, { environment_name: environmentName, field: start.field });
      throw problem('lineage-not-found', { ...start, environmentName, nearest: findName(start.name, names) });
    }
    const bounds = {
      environmentName,
      upstream: direction !== 'DOWNSTREAM',
      downstream: direction !== 'UPSTREAM',
      depth,
    };
    if (column === undefined)
      return { body: buildDatasetGraph(await walkDatasets(rows, found, bounds), found) };
    return { body: buildColumnGraph(await walkColumns(rows, columns, bounds), columns) };
  });
}

/** The full name of a dataset or column whose database and schema are missing, else the most similar name. */
function findName(name: string, rows: readonly { name: string }[]): string | undefined {
  const names = rows.map((row) => row.name);
  const end = `.${name.toLowerCase()}`;
  return names.find((full) => full.toLowerCase().endsWith(end)) ?? nearestName(name, names);
}

function requireOneStart(other: string | undefined) {
  const field = other ?? 'dataset';
  const detail =
    other === undefined
      ? 'is required: give one of `dataset`, `pipeline` and `column`, for example dataset=sales.orders'
      : 'cannot be combined with another one: give one of `dataset`, `pipeline` and `column`';
  return invalidRequest([{ field: `query.${field}`, pointer: `/query/${field}`, detail }]);
}
