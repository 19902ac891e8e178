/** Loads one file, and does with its faults what the component says. */
import {
  type Dialect,
  type FileLoad,
  type ObjectLoad,
  PermanentFault,
  type RejectTables,
} from '@headgate/pipelines';
import type { Transaction } from '../session/session.ts';
import type { LoadOutcome } from './load-report.ts';
import { describeBroken, describeMisfit, type LoadedFile } from './row-faults.ts';

interface Loading {
  load: ObjectLoad;
  outcome: LoadOutcome;
  dialect: Dialect;
  transaction: Pick<Transaction, 'execute' | 'query'>;
}

/** Faults of one file that are named in the run's log. */
const namedLimit = 1_000;
/** Rejected rows that are read: a row may be in there more than once. */
const rejectLimit = 1_000_000;

/** What leaves it open where the next row begins, so that rows after it would be lost without being counted. */
const breaking = ['UNQUOTED VALUE', 'LINE SIZE OVER MAXIMUM', 'INVALID STATE'];

/**
 * Returns whether the file was loaded, and not skipped.
 *
 * @throws PermanentFault about a fault that the component does not tolerate
 */
export async function loadTolerantly(file: LoadedFile, plan: FileLoad, loading: Loading): Promise<boolean> {
  const { load, outcome, transaction } = loading;
  if (file.bytes === 0) return true;
  if (load.onError.how === 'abort') {
    outcome.rows += (await transaction.execute(plan.insert(file.path))).rowCount;
    return true;
  }
  const rejects = load.format.type === 'CSV' ? nameRejects() : undefined;
  const counted = await transaction.query(plan.count(file.path, rejects), 1);
  const [rows, misfits] = (counted.rows[0] ?? []).map(Number) as [number, number];
  const broken = rejects === undefined ? [] : await readBroken(rejects, file, loading);
  await dropRejects(rejects, loading);
  const faults = misfits + broken.length;
  if (faults > 0) {
    outcome.faultCount += faults;
    outcome.faults.push(...broken.slice(0, namedLimit).map((fault) => `${file.name}, ${fault}`));
    if (misfits > 0) outcome.faults.push(...(await nameMisfits(file, plan, loading)));
    if (isSkipped(load.onError, faults, rows + broken.length)) {
      outcome.skipped.set(file.object.key, faults);
      return false;
    }
  }
  const again = faults === 0 || rejects === undefined ? undefined : nameRejects();
  const isTolerant = faults > 0 && rejects === undefined;
  const sql = plan.insert(file.path, isTolerant ? { rows: '', scans: '' } : again);
  const { rowCount } = await transaction.execute(sql);
  await dropRejects(again, loading);
  if (rowCount !== rows - misfits)
    throw new PermanentFault(
      `"${file.name}" has ${rows} rows and ${misfits} that do not fit, but ${rowCount} were loaded: load it again`,
    );
  outcome.rows += rowCount;
  return true;
}

let lastRejects = 0;

function nameRejects(): RejectTables {
  lastRejects += 1;
  return { rows: `headgate_rejects_${lastRejects}`, scans: `headgate_reject_scans_${lastRejects}` };
}

async function dropRejects(
  rejects: RejectTables | undefined,
  { dialect, transaction }: Loading,
): Promise<void> {
  if (rejects === undefined) return;
  for (const statement of dialect.dropRejects(rejects)) await transaction.execute(statement);
}

/** One text for each line that could not be divided into values. @throws PermanentFault */
async function readBroken(
  rejects: RejectTables,
  file: LoadedFile,
  { dialect, transaction }: Loading,
): Promise<string[]> {
  const { rows } = await transaction.query(dialect.listRejects(rejects, rejectLimit), rejectLimit);
  const first = rows.find(([, kind]) => breaking.includes(String(kind)));
  if (first !== undefined)
    throw new PermanentFault(
      `"${file.name}", line ${first[0]}: ${describeBroken(String(first[2]))}. The rows after it cannot be separated, so nothing of the file is loaded: correct it, or set "fieldOptionallyEnclosed"`,
    );
  return [
    ...new Map(
      rows.map(([line, , message]) => [line, `line ${line}: ${describeBroken(String(message))}`]),
    ).values(),
  ];
}

async function nameMisfits(file: LoadedFile, plan: FileLoad, loading: Loading): Promise<string[]> {
  const { load, transaction } = loading;
  const rejects = load.format.type === 'CSV' ? nameRejects() : undefined;
  const { rows } = await transaction.query(plan.listMisfits(file.path, namedLimit, rejects), namedLimit);
  await dropRejects(rejects, loading);
  return rows.map((row) => describeMisfit(row, file, load));
}

function isSkipped(onError: ObjectLoad['onError'], faults: number, rows: number): boolean {
  if (onError.how !== 'skip-file') return false;
  return onError.unit === 'rows' ? faults >= onError.most : faults * 100 >= onError.most * rows;
}
