/**
 * Loads objects of a store into a table that exists. The agent fetches all of them to its disk; then one transaction
 * loads them and notes which they are, so that nothing is ever half loaded.
 */
import {
  type Action,
  compilePattern,
  createLoadedObjects,
  type Dialect,
  datasetNames,
  forgetLoadedObjects,
  nameObject,
  nameStoreInLineage,
  noteLoadedObjects,
  PermanentFault,
  planFileLoad,
  readLoadedObjects,
  type TargetColumn,
} from '@headgate/pipelines';
import type { StoredObject } from '../../stores/object-store.ts';
import type { ActionContext, ActionResult } from '../context/action-context.ts';
import type { RunContext } from '../context/run-context.ts';
import { isConflict, type Transaction } from '../session/session.ts';
import { explainCopy, type PreparedFile, prepareFile } from './copied-load.ts';
import { describeLoad, describeNothing, type LoadOutcome, printFaults } from './load-report.ts';
import { fetchAll, type LocatedLoad } from './object-fetch.ts';
import { explainFailure, FailedFile, type LoadedFile } from './row-faults.ts';
import { locate } from './stage-place.ts';
import { isEmpty, listMembers, readTarget, requireNoRole } from './target-table.ts';
import { loadTolerantly } from './tolerant-load.ts';

type LoadAction = Extract<Action, { action: 'load-objects' }>;

export async function loadObjects(planned: LoadAction, context: ActionContext): Promise<ActionResult> {
  const { load } = planned;
  const { ports, warehouse, dialect, limit, asserts } = context.run.context;
  if (asserts !== undefined && load.purges)
    throw new PermanentFault('a test cannot delete objects of a store: set "purgeFiles" to No');
  requireNoRole(planned.role);
  const columns = await readTarget(load.target, warehouse, dialect);
  // A wrong column is said before anything is fetched.
  planFileLoad(load, inBetween(columns, dialect), [], dialect.copy?.between ?? dialect);
  const { pattern } = planned.source;
  const source = { place: await locate(planned.source.place, warehouse), pattern };
  const action: LocatedLoad = { ...planned, source };
  const listed = await ports.stores.list(source.place, limit);
  const matching = await selectMatching(listed, source);
  await warehouse.execute(createLoadedObjects(dialect));
  const chosen = await withoutLoaded(matching, action, warehouse, dialect);
  const files: LoadedFile[] = [];
  try {
    const loaded = await fetchAll(chosen, action, files, context);
    if (loaded.length === 0)
      return {
        status: 'SUCCESS',
        rowCount: 0,
        message: describeNothing(nameObject(source.place), source.pattern, listed.length, matching.length),
      };
    const outcome = await fill(action, columns, files, loaded, context);
    const leftBehind = matching.length - loaded.length;
    let changed: readonly string[] = [];
    if (load.purges) {
      const purged = loaded.filter(({ key }) => !outcome.skipped.has(key));
      changed = await ports.stores.remove(source.place.store, purged, limit).catch((error: Error) => {
        error.message = `the rows were loaded, but not all objects were deleted: ${error.message}`;
        throw error;
      });
    }
    printFaults(outcome, (line) =>
      ports.log(line, { step: context.step.current().stepId, stream: 'component' }),
    );
    return {
      status: 'SUCCESS',
      rowCount: outcome.rows,
      byteCount: loaded.reduce((sum, { size }) => sum + size, 0),
      message: describeLoad(outcome, loaded.length, leftBehind, {
        reloads: load.reloads,
        isLimited: load.sizeLimit !== undefined,
        changed,
      }),
    };
  } finally {
    for (const { path } of files) await ports.files.endWrite(path, false).catch(() => undefined);
  }
}

/** Without what stands for a folder. */
export async function selectMatching(
  listed: readonly StoredObject[],
  { place, pattern }: LocatedLoad['source'],
): Promise<StoredObject[]> {
  const objects = listed.filter(({ key }) => !key.endsWith('/'));
  if (pattern === '') return objects;
  const matches = await compilePattern('pattern', pattern);
  return objects.filter(
    ({ key }) =>
      matches(key) ||
      matches(key.slice(place.key.length)) ||
      matches(key.slice(key.lastIndexOf('/') + 1)) ||
      matches(nameObject({ store: place.store, key })),
  );
}

/** The objects that the table does not have. If it is empty, it has none. */
async function withoutLoaded(
  matching: readonly StoredObject[],
  { load, source }: LocatedLoad,
  warehouse: Pick<Transaction, 'query'>,
  dialect: Dialect,
): Promise<readonly StoredObject[]> {
  if (load.reloads || (await isEmpty(load.target, warehouse, dialect))) return matching;
  const { rows } = await warehouse.query(readLoadedObjects(load.target, dialect), 1_000_000);
  const known = new Set(rows.map(([name, version]) => `${version} ${name}`));
  return matching.filter(
    ({ key, version }) => !known.has(`${version} ${nameObject({ store: source.place.store, key })}`),
  );
}

async function fill(
  action: LocatedLoad,
  columns: readonly TargetColumn[],
  files: readonly LoadedFile[],
  loaded: readonly StoredObject[],
  { run, step }: ActionContext,
): Promise<LoadOutcome> {
  const { load, source } = action;
  const { dialect } = run.context;
  const { store } = source.place;
  for (const file of files)
    step.nameFile(file.name, {
      kind: 'object',
      name: datasetNames.object(nameStoreInLineage(store), file.object.key),
    });
  let current: LoadedFile | undefined;
  const { copy } = dialect;
  // The step shows no folder of this machine.
  const warehouse = run.context.warehouse.watch((sql) => {
    if (current === undefined || copy !== undefined) return step.noteStatement(sql);
    return step.noteStatement(sql.replaceAll(dialect.quotePath(current.path), dialect.literal(current.name)));
  });
  const prepared: PreparedFile[] = [];
  /** Returns whether the file was loaded, and not skipped. */
  async function loadOne(file: LoadedFile, outcome: LoadOutcome, transaction: Transaction): Promise<boolean> {
    const ready = prepared.find((each) => each.file === file);
    if (ready !== undefined) return copyPrepared(ready, load, dialect, outcome, transaction);
    const sized = describeFile(load, file);
    const members = await listMembers(file.path, sized, transaction, dialect);
    const plan = planFileLoad(sized, columns, members, dialect);
    return loadTolerantly(file, plan, { load: sized, outcome, dialect, transaction });
  }
  const fillAll = async (transaction: Transaction) => {
    const outcome: LoadOutcome = { rows: 0, faults: [], faultCount: 0, skipped: new Map() };
    for (const statement of dialect.lockTable(load.target)) await transaction.execute(statement);
    if (await isEmpty(load.target, transaction, dialect))
      await transaction.execute(forgetLoadedObjects(load.target, dialect));
    // Another run may have loaded some meanwhile.
    const remaining = new Set(await withoutLoaded(loaded, action, transaction, dialect));
    const taken = new Set<StoredObject>();
    for (const file of files) {
      if (!remaining.has(file.object)) continue;
      current = file;
      try {
        if (await loadOne(file, outcome, transaction)) taken.add(file.object);
      } catch (error) {
        throw error instanceof PermanentFault ? error : new FailedFile(file, error);
      }
    }
    current = undefined;
    const objects = [...taken].map(({ key, version }) => ({ name: nameObject({ store, key }), version }));
    for (let at = 0; at < objects.length; at += 1_000)
      await transaction.execute(noteLoadedObjects(load.target, objects.slice(at, at + 1_000), dialect));
    return outcome;
  };
  try {
    // Before the transaction, which would be idle meanwhile.
    if (copy !== undefined)
      for (const file of files)
        prepared.push(await prepareFile(file, describeFile(load, file), columns, copy, run.context));
    return await repeatConflicts(() => warehouse.transact(fillAll), run.context);
  } catch (error) {
    if (!(error instanceof FailedFile)) throw error;
    const failed = prepared.find(({ file }) => file === error.file);
    if (failed !== undefined) throw explainCopy(failed, error.cause);
    const { warehouse: after } = run.context;
    const sized = describeFile(load, error.file);
    const members = await listMembers(error.file.path, sized, after, dialect).catch(() => []);
    const plan = planFileLoad(sized, columns, members, dialect);
    throw await explainFailure(error, sized, plan, after);
  } finally {
    for (const { path, file } of prepared)
      if (path !== file.path) await run.context.ports.files.endWrite(path, false).catch(() => undefined);
  }
}

async function copyPrepared(
  { file, path, format, columns, skippedLines, outcome: found }: PreparedFile,
  load: LoadAction['load'],
  dialect: Dialect,
  outcome: LoadOutcome,
  transaction: Transaction,
): Promise<boolean> {
  outcome.faults.push(...found.faults);
  outcome.faultCount += found.faultCount;
  for (const [key, faults] of found.skipped) outcome.skipped.set(key, faults);
  if (found.skipped.has(file.object.key)) return false;
  const { copy } = dialect;
  if (copy === undefined || file.bytes === 0) return true;
  const write = (name?: string) => copy.copyIn(dialect.table(load.target), columns, format, name);
  const shown = write(file.name);
  const { rowCount } = await transaction.copy(write(), { path, to: 'warehouse', skippedLines, shown });
  outcome.rows += rowCount;
  return true;
}

/** The columns with the types of what reads the files. */
const inBetween = (columns: readonly TargetColumn[], { copy }: Dialect): readonly TargetColumn[] =>
  copy === undefined
    ? columns
    : columns.map((column) => ({ ...column, type: copy.betweenType(column.type) }));

/** With the longest line of a file that was converted, for which the warehouse takes memory. */
export function describeFile(
  plain: LoadAction['load'],
  { longestLine, object, entry }: LoadedFile,
): LoadAction['load'] {
  const { key, version, modified } = object;
  const load = { ...plain, origin: { name: entry === '' ? key : `${key}/${entry}`, version, modified } };
  const { format } = load;
  if (format.type !== 'JSON' || format.isByLine !== true) return load;
  return { ...load, format: { ...format, lineBytes: longestLine } };
}

/** Milliseconds between attempts, while another load of the same table has not ended. */
const pauses = [50, 100, 200, 400, 800, 1_600, 3_200, 5_000, 5_000, 5_000, 5_000, 5_000];

export async function repeatConflicts<Result>(
  work: () => Promise<Result>,
  { ports, limit, findHalt }: Pick<RunContext, 'ports' | 'limit' | 'findHalt'>,
): Promise<Result> {
  for (const pause of pauses) {
    try {
      return await work();
    } catch (error) {
      const cause = error instanceof FailedFile ? error.cause : error;
      if (!isConflict(cause) || findHalt() !== undefined) throw error;
      await ports.wait(pause, limit);
    }
  }
  return work();
}
