/**
 * Loads the rows of an endpoint into a table. The agent sends the requests; this process, which is confined and
 * bounded, reads the responses. The rows wait in a file until all pages have come, and one transaction loads them.
 */
import {
  type Action,
  type ConnectorEndpoint,
  ConnectorError,
  createMarkKey,
  createMarkTable,
  createRowCheck,
  type EndpointLoad,
  getRowSchema,
  nextPage,
  type PagingState,
  pageColumn,
  parseJson,
  planEndpointLoad,
  readMark,
  rowsOf,
  startPaging,
} from '@headgate/pipelines';
import type { ActionContext, ActionResult } from './action-context.ts';
import type { AnsweredPage } from './asked-endpoint.ts';
import { findEndpoint } from './endpoint-profile.ts';
import { createHighWaterMark, type HighWaterMark } from './high-water-mark.ts';
import type { EndpointPort } from './ports.ts';
import { createRowFile, type RowFile } from './row-file.ts';

type LoadAction = Extract<Action, { action: 'load-endpoint' }>;

/** What the pages have given so far. */
interface Gathering {
  load: EndpointLoad;
  endpoint: ConnectorEndpoint;
  check: ReturnType<typeof createRowCheck>;
  mark: HighWaterMark | undefined;
  file: RowFile;
  rows: number;
  pages: number;
}

export async function loadEndpoint(
  { source, load }: LoadAction,
  context: ActionContext,
): Promise<ActionResult> {
  const { run, step } = context;
  const { ports, warehouse, limit, asserts, dialect } = run.context;
  const { path, endpoint } = await findEndpoint(run.artifact.files, source);
  if (asserts !== undefined && endpoint.httpMethod !== 'GET')
    throw new ConnectorError(
      `a test cannot call "${endpoint.name}", which sends a ${endpoint.httpMethod} and may change what is at the other end`,
    );
  const existing = await readColumns(context, load);
  if (existing !== undefined && load.mode === 'fail-if-exists')
    throw new ConnectorError(
      `the table "${load.target.table}" exists: drop it, or choose another mode of createTableMode`,
    );
  const key = createMarkKey(source, load);
  const mark = await openMark(context, load, key);
  const asked = { path, endpoint: endpoint.id, connection: source.connection, values: source.values };
  const port = await run.artifact.files.openEndpoint(asked);
  const file = await createRowFile(ports.files);
  try {
    const gathering: Gathering = {
      load,
      endpoint,
      check: createRowCheck(load.wholePages ? undefined : getRowSchema(endpoint.structure), load),
      mark,
      file,
      rows: 0,
      pages: 0,
    };
    const print = (line: string) =>
      load.isVerbose ? ports.log(line, { step: step.current().stepId, stream: 'component' }) : undefined;
    await readPages(port, source.rowsPerPage, gathering, print, limit);
    const plan = planEndpointLoad(
      load,
      {
        file: await file.finish(),
        columns: load.wholePages ? [pageColumn] : gathering.check.listColumns(),
        children: gathering.check.children,
        existing,
        mark: mark?.value === undefined ? undefined : { key, value: mark.value },
      },
      dialect,
    );
    const { rowCount } = await warehouse.executeAll(plan);
    return { status: 'SUCCESS', rowCount, message: describe(gathering, source.rowsPerPage) };
  } finally {
    await port.close();
    await file.remove();
  }
}

async function readColumns({ run }: ActionContext, { target }: EndpointLoad) {
  const { warehouse, dialect } = run.context;
  const { rows } = await warehouse.query(dialect.tableColumns(target), columnLimit);
  return rows.length === 0
    ? undefined
    : rows.map(([name, type]) => ({ name: String(name), type: String(type) }));
}

/** Columns of a table that exists. */
const columnLimit = 10_000;

async function openMark(
  { run }: ActionContext,
  load: EndpointLoad,
  key: string,
): Promise<HighWaterMark | undefined> {
  const { warehouse, dialect } = run.context;
  if (load.incremental === undefined) return undefined;
  await warehouse.execute(createMarkTable(dialect));
  const { rows } = await warehouse.query(readMark(dialect, key), 1);
  const [before] = rows[0] ?? [];
  const hasKeys = load.primaryKeys.length > 0;
  return createHighWaterMark(load.incremental, hasKeys, typeof before === 'string' ? before : undefined);
}

async function readPages(
  port: EndpointPort,
  rowsPerPage: number | undefined,
  gathering: Gathering,
  print: (line: string) => void,
  limit: AbortSignal | undefined,
): Promise<void> {
  const { endpoint, load, mark } = gathering;
  const { paging, structure } = endpoint;
  const sent = mark?.parameters ?? [];
  const ask = ({ page }: PagingState): Promise<AnsweredPage> => {
    const request = page.url === undefined ? { parameters: [...sent, ...page.parameters] } : page;
    const asked = port.fetch(request, limit);
    // The rows of the page before may end the load while this one comes.
    asked.catch(() => undefined);
    return asked;
  };
  let state: PagingState | undefined = startPaging(paging, rowsPerPage);
  let coming: Promise<AnsweredPage> | undefined = ask(state);
  while (state !== undefined) {
    const { number }: PagingState['page'] = state.page;
    const response: AnsweredPage = await (coming ?? ask(state));
    const body = readBody(response, number);
    if (body === undefined && number > 1) requireNoContent(response, number);
    const found = body === undefined ? [] : rowsOf(body, structure);
    const { url, link } = response;
    const given = { url, link, body, rowCount: found.length, lastRow: found.at(-1) };
    state = body === undefined ? undefined : nextPage(paging, state, given, rowsPerPage);
    // The next page comes while the rows of this one are read. With a limit it may not be needed.
    coming = state === undefined || load.rowLimit !== undefined ? undefined : ask(state);
    gathering.pages += 1;
    const isFull = await (load.wholePages ? takePage(response, gathering) : takeRows(found, gathering));
    print(`page ${number}: ${found.length} rows`);
    if (isFull) return;
  }
}

/** The text is one column, so it is not written again, which could change it. */
async function takePage({ text }: AnsweredPage, gathering: Gathering): Promise<boolean> {
  if (text.trim() === '') return false;
  gathering.rows += 1;
  await gathering.file.add(text);
  return gathering.rows === gathering.load.rowLimit;
}

/** Returns whether the load has as many rows as it may have. */
async function takeRows(rows: readonly unknown[], gathering: Gathering): Promise<boolean> {
  const { check, mark, file, load } = gathering;
  for (const row of rows) {
    const object = check.take(row);
    if (mark !== undefined && !mark.take(object)) continue;
    gathering.rows += 1;
    await file.add(object);
    if (gathering.rows === load.rowLimit) return true;
  }
  return false;
}

const quoteLength = 200;

function readBody({ text, status, contentType, url }: AnsweredPage, page: number): unknown {
  if (text.trim() === '') return undefined;
  try {
    return parseJson(text.charCodeAt(0) === 0xfeff ? text.slice(1) : text);
  } catch {
    const { origin, pathname } = new URL(url);
    const kind = contentType ?? (text.trimStart().startsWith('<') ? 'HTML or XML' : 'no content type');
    const start = text.slice(0, quoteLength).replaceAll(/\s+/g, ' ').trim();
    throw new ConnectorError(
      `page ${page} of ${origin}${pathname} is not JSON (status ${status}, ${kind}); it begins with: ${start}`,
    );
  }
}

/** The page before has led here, so rows may be missing. */
function requireNoContent({ status, url }: AnsweredPage, page: number): void {
  if (status === 204) return;
  const { origin, pathname } = new URL(url);
  throw new ConnectorError(
    `page ${page} of ${origin}${pathname} is empty (status ${status}), so rows may be missing: load again`,
  );
}

const namedMembers = 20;

function describe(
  { pages, rows, check, endpoint, mark, load }: Gathering,
  rowsPerPage: number | undefined,
): string {
  const { origin } = new URL(endpoint.url);
  const leftOut = check.listLeftOut();
  const lines = [
    `${rows} ${rows === 1 ? 'row' : 'rows'} from ${pages} ${pages === 1 ? 'page' : 'pages'} of ${origin}`,
  ];
  if (mark?.value !== undefined)
    lines.push(`high-water mark of "${load.incremental?.column}": ${mark.value}`);
  if (leftOut.length > 0)
    lines.push(
      `members without a column in the schema of the profile were left out: ${leftOut.slice(0, namedMembers).join(', ')}${leftOut.length > namedMembers ? ', …' : ''}`,
    );
  if (rowsPerPage !== undefined && endpoint.paging.size === undefined)
    lines.push('pageLimit has no effect: the paging of the profile has no sizeParameter');
  return lines.join('\n');
}
