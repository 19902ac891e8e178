/**
 * Loads the rows of an endpoint into a table. The agent sends the requests; this process, which is confined and
 * bounded, reads the responses. The rows wait in a file until all pages have come, and one transaction loads them.
 */
import {
  type Action,
  type ConnectorEndpoint,
  ConnectorError,
  connectorProfileName,
  createMarkTable,
  createRowCheck,
  datasetNames,
  type EndpointLoad,
  type GatheredRows,
  getRowSchema,
  type JsonMap,
  nextPage,
  type PagingState,
  pageColumn,
  readMark,
  startPaging,
  writeExactly,
} from '@headgate/pipelines';
import type { ActionContext, ActionResult } from '../context/action-context.ts';
import { nameFile } from '../files/files.ts';
import { createRowFile, type RowFile, rowFileName } from '../files/row-file.ts';
import type { AnsweredPage } from '../ports/asked-endpoint.ts';
import type { EndpointPort } from '../ports/ports.ts';
import { isConflict } from '../session/session.ts';
import { dropMark, isCounted, nameDepth, type ReadPage, readPage, requireAnother } from './endpoint-page.ts';
import { findEndpoint } from './endpoint-profile.ts';
import { createHighWaterMark, createMarkKey, type HighWaterMark } from './high-water-mark.ts';
import { describeExisting, fillTables, type MovedMark, readColumns } from './load-transaction.ts';

type LoadAction = Extract<Action, { action: 'load-endpoint' }>;

/** What the pages have given so far. */
interface Gathering {
  load: EndpointLoad;
  endpoint: ConnectorEndpoint;
  /** Of the endpoint, in lineage. */
  name: string;
  check: ReturnType<typeof createRowCheck>;
  mark: HighWaterMark | undefined;
  file: RowFile;
  rows: number;
  pages: number;
  /** Of the responses, uncompressed. */
  bytes: number;
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
  const existing = await readColumns(warehouse, load.target, dialect);
  if (existing !== undefined && load.mode === 'fail-if-exists') throw describeExisting(load.target);
  const key = createMarkKey({ profile: path, endpoint: endpoint.id }, source, load, dialect);
  const before = await readMarkBefore(context, load, key);
  const question = { path, endpoint: endpoint.id, connection: source.connection, values: source.values };
  const port = await run.artifact.files.openEndpoint(question);
  const file = await createRowFile(ports.files);
  try {
    const gathering: Gathering = {
      load,
      endpoint,
      name: datasetNames.api(connectorProfileName(path) ?? path, endpoint.name),
      check: createRowCheck(load.wholePages ? undefined : getRowSchema(endpoint.structure), load),
      mark: load.incremental && createHighWaterMark(load.incremental, load.primaryKeys.length > 0, before),
      file,
      rows: 0,
      pages: 0,
      bytes: 0,
    };
    const print = (line: string) =>
      load.isVerbose ? ports.log(line, { step: step.current().stepId, stream: 'component' }) : undefined;
    await readPages(port, source.rowsPerPage, gathering, print, limit);
    const rowCount = await fill(gathering, { key, before, value: gathering.mark?.value }, context);
    const { bytes: byteCount } = gathering;
    return { status: 'SUCCESS', rowCount, byteCount, message: describe(gathering, source.rowsPerPage) };
  } finally {
    await port.close();
    await file.remove();
  }
}

async function readMarkBefore(
  { run }: ActionContext,
  load: EndpointLoad,
  key: string,
): Promise<string | undefined> {
  const { warehouse, dialect } = run.context;
  if (load.incremental === undefined) return undefined;
  await warehouse.execute(createMarkTable(dialect));
  const { rows } = await warehouse.query(readMark(dialect, key), 1);
  const [before] = rows[0] ?? [];
  return typeof before === 'string' ? before : undefined;
}

/** Messages of a ConnectorError have values of the rows. */
const isRepeatable = (error: unknown) => !(error instanceof ConnectorError) && isConflict(error);

/** Milliseconds between attempts, while another load of the same table has not ended. */
const pauses = [50, 100, 200, 400, 800, 1_600, 3_200, 5_000, 5_000, 5_000, 5_000, 5_000];

async function fill(gathering: Gathering, mark: MovedMark, { run, step }: ActionContext): Promise<number> {
  const { load, check, file } = gathering;
  const { ports, dialect, limit } = run.context;
  const rows: GatheredRows = {
    file: await file.finish(),
    columns: load.wholePages ? [pageColumn] : check.listColumns(),
    children: check.children,
  };
  const moved = load.incremental === undefined ? undefined : mark;
  const path = dialect.quotePath(file.path);
  step.nameFile(rowFileName, { kind: 'api', name: gathering.name });
  // The step shows no folder of this machine.
  const warehouse = run.context.warehouse.watch((sql) =>
    step.noteStatement(sql.replaceAll(path, dialect.literal(rowFileName))),
  );
  const attempt = () =>
    warehouse.transact((transaction) => fillTables(load, rows, moved, dialect, transaction));
  try {
    for (const pause of pauses) {
      try {
        return await attempt();
      } catch (error) {
        if (!isRepeatable(error) || run.context.findHalt() !== undefined) throw error;
        await ports.wait(pause, limit);
      }
    }
    return await attempt();
  } catch (error) {
    if (isRepeatable(error))
      throw new ConnectorError(
        `the table "${load.target.table}" is being changed by another run or statement: load again when it has ended`,
      );
    throw nameFile(error, { path: file.path, name: rowFileName });
  }
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
    const response = port.fetch(request, limit);
    // The rows of the page before may end the load while this one comes.
    response.catch(() => undefined);
    return response;
  };
  let state: PagingState | undefined = startPaging(paging, rowsPerPage);
  let coming: Promise<AnsweredPage> | undefined = ask(state);
  let before: ReadPage['rows'] = [];
  while (state !== undefined) {
    const { number }: PagingState['page'] = state.page;
    const response: AnsweredPage = await (coming ?? ask(state));
    const page: ReadPage = readPage(response, structure, number);
    if (isCounted(paging)) requireAnother(response, page, before, number);
    before = page.rows;
    gathering.pages += 1;
    gathering.bytes += Buffer.byteLength(response.text);
    // With a limit the next page may not be needed, so its address is not read early.
    const isLimited = load.rowLimit !== undefined;
    const isFull: boolean = isLimited && (await takeResponse(response, page, number, gathering));
    state = isFull ? undefined : nextPage(paging, state, page, rowsPerPage);
    coming = undefined;
    if (!isLimited) {
      // Fetches the next page while the rows of this one are read.
      coming = state === undefined ? undefined : ask(state);
      await takeResponse(response, page, number, gathering);
    }
    print(`page ${number}: ${page.rows.length} rows`);
  }
}

/** Returns whether the load has as many rows as it may have. */
function takeResponse(
  response: AnsweredPage,
  page: ReadPage,
  number: number,
  gathering: Gathering,
): Promise<boolean> {
  if (gathering.load.wholePages) return takePage(response, gathering);
  return takeRows(page, gathering).catch((error: unknown) => {
    throw nameDepth(error, response, number);
  });
}

/** The text is one column, so it is stored as it came: rendering it again could change it. */
async function takePage({ text }: AnsweredPage, gathering: Gathering): Promise<boolean> {
  if (text.trim() === '') return false;
  gathering.rows += 1;
  await gathering.file.add(dropMark(text));
  return gathering.rows === gathering.load.rowLimit;
}

const asItIs = (row: JsonMap) => ({ row, texts: undefined });

async function takeRows(
  { rows, hasLong }: Pick<ReadPage, 'rows' | 'hasLong'>,
  gathering: Gathering,
): Promise<boolean> {
  const { check, mark, file, load } = gathering;
  for (const row of rows) {
    const object = check.take(row);
    if (mark !== undefined && !mark.take(object)) continue;
    gathering.rows += 1;
    const { row: written, texts } = hasLong ? writeExactly(object, check.lists) : asItIs(object);
    await file.add(written, texts);
    if (gathering.rows === load.rowLimit) return true;
  }
  return false;
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
